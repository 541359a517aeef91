// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import XDPSockets

// What the plane has the worker do between two batches.

extension AFXDPWorker {
    /// How often a ring that the kernel does not empty is tried again, a millisecond apart: an interface
    /// that is down takes nothing at all.
    private static let patience = 50

    /// Works off what has come in until now, and waits until it has left.
    mutating func settle() {
        var left = unsafe ingress.pointee.receive.waiting
        while left > 0 {
            let taken = Int(turnOnce())
            guard taken > 0 else { break }
            left -= taken
        }
        var tries = 0
        while transmit(), tries < Self.patience {
            cnet_pause(1000)
            tries += 1
        }
    }

    /// Waits until a socket has sent what it was given, and takes the frames back.
    mutating func empty(_ socket: SharedSocket) {
        var tries = 0
        while unsafe flush(socket.pointer)
            || store.count(at: .transmitting(socket.number)) > 0, tries < Self.patience
        {
            // The packets that come in meanwhile are not to wait.
            if turnOnce() == 0 { cnet_pause(200) }
            tries += 1
        }
    }

    /// Where the frames are.
    func census() -> FrameCensus {
        var census = store.census()
        unsafe ingress.pointee.count(in: &census, of: store)
        for place in unsafe 0..<table.pointee.egressCount {
            let socket = unsafe table.pointee.egresses[place]
            if unsafe socket != ingress { unsafe socket.pointee.count(in: &census, of: store) }
        }
        return census
    }
}
