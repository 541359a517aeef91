// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// How a worker's packets get to a receiver.
struct Way {
    /// The socket to send by; nil when the kernel must send.
    var egress: SharedSocket?
    var link = lb_link()
    /// Bytes of the longest IP packet that may go out by `egress`.
    var mtu: UInt32 = 0
    var isLocal = false
    /// Whether packets would be lost silently, so they are dropped and counted.
    var isUnplugged = false

    /// Through the kernel.
    init(isLocal: Bool = false) { self.isLocal = isLocal }

    /// To a receiver behind a link without carrier.
    static var unplugged: Way {
        var way = Way()
        way.isUnplugged = true
        return way
    }

    /// Out of a socket, in a frame from one link-layer address to another, 6 bytes each.
    init(by egress: SharedSocket, from source: [UInt8], to destination: [UInt8], mtu: UInt32) {
        self.egress = egress
        self.mtu = mtu
        link.source = Self.tuple(source)
        link.destination = Self.tuple(destination)
    }

    private static func tuple(
        _ bytes: [UInt8]
    ) -> (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) {
        (bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5])
    }
}

/// The path of a frame to a receiver, as the network shows it; the socket for it is the worker's.
struct LinkWay: Equatable, Sendable {
    let interface: UInt32
    let source: [UInt8]
    let destination: [UInt8]
    let mtu: UInt32

    /// nil when the kernel must send.
    init?(_ path: ReceiverPath?, _ links: LinkLayer) {
        guard let path, let hop = path.hop, let device = links.devices[hop.interface],
            device.isUp, let source = device.mac, let destination = links.hops[hop],
            source.count == 6, destination.count == 6
        else { return nil }
        interface = hop.interface
        self.source = source
        self.destination = destination
        mtu = path.mtu ?? device.mtu
    }
}
