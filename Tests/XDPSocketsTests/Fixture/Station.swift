// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet

@testable import XDPSockets

/// One AF_XDP socket with its frames, and a worker's operations on it.
final class Station {
    var store: FrameStore
    var socket: XDPSocket
    /// Sockets that share its memory.
    var others: [Neighbour] = []

    /// A socket in an array.
    final class Neighbour {
        var socket: XDPSocket?
        init(_ socket: consuming XDPSocket) { self.socket = consume socket }
    }

    /// - Parameter interface: in the network of the calling thread.
    init(
        on interface: String, queue: UInt32 = 0, _ shape: Umem.Shape = .small,
        _ settings: XDPSocket.Settings = XDPSocket.Settings()
    ) throws {
        let umem = try Umem(shape)
        store = umem.makeFrameStore()
        socket = try XDPSocket(
            on: InterfaceQueue(interface: if_nametoindex(interface), queue: queue), using: umem,
            settings)
    }

    func share(with interface: String, queue: UInt32 = 0) throws -> Neighbour {
        let neighbour = Neighbour(
            try XDPSocket(
                on: InterfaceQueue(interface: if_nametoindex(interface), queue: queue),
                sharingMemoryOf: socket))
        others.append(neighbour)
        return neighbour
    }

    /// Gives free frames to the kernel to receive into.
    func refill() { socket.fill.refill(from: &store) }

    /// Sends frames without waiting.
    func send(_ frames: [[UInt8]]) throws -> XDPSocket.Wake {
        for frame in frames {
            guard let address = store.take() else { throw SystemError("take", code: ENOBUFS) }
            (socket.base + Int(address)).copyMemory(from: frame, byteCount: frame.count)
            let packet = Packet(address: address, bytes: UInt32(frame.count))
            guard socket.transmit.append(packet, of: &store) == .appended else {
                throw SystemError("append", code: ENOBUFS)
            }
        }
        socket.transmit.publish()
        return socket.wakeTransmitter()
    }

    /// Takes the received packets; their frames go back to the kernel.
    func take() -> [[UInt8]] {
        let range = socket.receive.take(upTo: 64, of: &store)
        let frames = (0..<range.count).map { offset in
            let packet = socket.receive.packet(at: range[offset])
            let bytes = UnsafeRawBufferPointer(
                start: socket.base + Int(packet.address), count: Int(packet.bytes))
            _ = store.put(packet.address)
            return Array(bytes)
        }
        socket.receive.release(range)
        refill()
        _ = socket.wakeReceiver()
        return frames
    }

    /// Forwards received packets through a socket that shares the memory, without a copy.
    func passOn(by neighbour: Neighbour) {
        let range = socket.receive.take(upTo: 64, of: &store)
        for offset in 0..<range.count {
            let packet = socket.receive.packet(at: range[offset])
            if neighbour.socket?.transmit.append(packet, of: &store) != .appended {
                _ = store.put(packet.address)
            }
        }
        socket.receive.release(range)
        neighbour.socket?.transmit.publish()
        _ = neighbour.socket?.wakeTransmitter()
        neighbour.socket?.completion.drain(into: &store)
        refill()
    }

    /// The received packets, once there are `count`.
    func receive(_ count: Int) async throws -> [[UInt8]] {
        var frames: [[UInt8]] = []
        try await eventually("\(count) frames arrive") {
            frames += self.take()
            return frames.count >= count
        }
        return frames
    }

    /// Whether the kernel waits to be woken before it sends.
    var needsWakeup: Bool { socket.transmit.needsWakeup }

    var census: FrameCensus {
        var census = store.census()
        socket.count(in: &census, of: store)
        for other in others { other.socket?.count(in: &census, of: store) }
        return census
    }

    func close(_ neighbour: Neighbour) {
        neighbour.socket.take()?.close(returningFramesTo: &store)
    }
}

extension Umem.Shape {
    /// Small, so that tests reach its limits.
    static let small = Umem.Shape(frames: 512, fillEntries: 256, completionEntries: 256)
}
