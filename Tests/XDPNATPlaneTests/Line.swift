// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet

/// A UDP socket with one peer: the kernel reports ICMP errors about its datagrams to it.
final class Line: Sendable {
    private let socket: Socket
    private let isV6: Bool

    /// - Parameter own: the local address and port.
    init(from own: Endpoint, to peer: Endpoint) throws {
        isV6 = own.address.family == .v6
        socket = try Socket(
            family: own.address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
        try socket.bind(to: own)
        try socket.connect(to: peer)
    }

    /// Whether the kernel accepted it.
    @discardableResult
    func send(bytes count: Int = 1) -> Bool {
        socket.send([UInt8](repeating: 0x78, count: count))
    }

    /// Forbids routers to fragment its datagrams; a datagram above the path's MTU is an error.
    func forbidFragments() throws {
        // IP_MTU_DISCOVER and IPV6_MTU_DISCOVER, to IP_PMTUDISC_DO and IPV6_PMTUDISC_DO.
        try set(isV6 ? 23 : 10, to: 2)
    }

    /// Makes it receive transient errors, too: IP_RECVERR, IPV6_RECVERR.
    func takePassingErrors() throws { try set(isV6 ? 25 : 11, to: 1) }

    /// IP_TTL, IPV6_UNICAST_HOPS.
    func limitHops(to hops: Int32) throws { try set(isV6 ? 16 : 2, to: hops) }

    private func set(_ option: Int32, to value: Int32) throws {
        let level = isV6 ? Int32(IPPROTO_IPV6) : Int32(IPPROTO_IP)
        var value = value
        guard
            setsockopt(
                socket.descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
        else { throw Failed("setsockopt \(option)") }
    }

    /// Takes the pending error; 0 when there is none.
    var error: Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        return code
    }
}
