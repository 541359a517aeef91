// SPDX-License-Identifier: Apache-2.0

import CNet
public import FanoutCore
import Glibc
import LinuxNet

/// A sender: a socket with its own source, connected to one destination.
public final class Traffic: Sendable {
    public let source: Endpoint
    public let destination: Endpoint
    let socket: Socket

    /// - Parameters:
    ///   - address: the source; the destination's loopback when nil.
    ///   - port: 0 for one that the kernel chooses.
    public init(
        to destination: Endpoint, from address: IPAddress? = nil, port: UInt16 = 0
    ) throws {
        let isV4 = destination.address.family == .v4
        let address = address ?? (isV4 ? .loopback : .loopback6)
        self.destination = destination
        socket = try Socket(
            family: address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
        try socket.bind(to: Endpoint(address, port: port))
        try socket.connect(to: destination)
        source = Endpoint(address, port: try socket.boundPort)
    }

    /// Sends one datagram of 0...65507 bytes.
    ///
    /// - Returns: whether the kernel accepted it. If no socket listened for an earlier datagram, the next send reports
    ///   that and sends nothing.
    @discardableResult
    public func send(_ payload: [UInt8]) -> Bool {
        Glibc.send(socket.descriptor, payload, payload.count, 0) == payload.count
    }

    /// Sends datagrams in one call (UDP_SEGMENT): each of `segment` bytes, the last perhaps shorter.
    ///
    /// - Returns: the number of datagrams that the kernel accepted; 0 when it refused.
    @discardableResult
    public func sendSuperPacket(_ bytes: [UInt8], segment: Int) -> Int {
        var option = Int32(segment)
        let size = socklen_t(MemoryLayout<Int32>.size)
        let (level, number) = (Int32(IPPROTO_UDP), Int32(103))  // UDP_SEGMENT, linux/udp.h
        guard setsockopt(socket.descriptor, level, number, &option, size) == 0 else { return 0 }
        defer {
            option = 0
            setsockopt(socket.descriptor, level, number, &option, size)
        }
        guard send(bytes) else { return 0 }
        return (bytes.count + segment - 1) / segment
    }

    /// The same with `count` arbitrary bytes.
    @discardableResult
    public func sendSuperPacket(bytes count: Int, segment: Int) -> Int {
        sendSuperPacket((0..<count).map { UInt8(truncatingIfNeeded: $0) }, segment: segment)
    }

    /// Sends stamped datagrams at a steady pace from this source and returns when all are sent.
    ///
    /// - Parameters:
    ///   - flows: sequences of their own, used in rotation.
    ///   - rate: datagrams a second.
    ///   - size: bytes of each, 24...65507.
    public func run(
        flows: Int = 1, rate: Int, duration: Duration, size: Int = 64
    ) async throws -> LoadReport {
        let load = try Load(
            [self], flows: flows, rate: rate, duration: duration, sizes: [size])
        return await load.finish()
    }
}
