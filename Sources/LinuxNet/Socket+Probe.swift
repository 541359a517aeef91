// SPDX-License-Identifier: Apache-2.0

internal import CNet
public import FanoutCore
internal import Glibc

/// Sockets that ask a host whether it is alive. None of them ever blocks.
extension Socket {
    /// For ICMP or ICMPv6 echo messages, by right of a group (icmp(7)): the kernel puts in identifier and
    /// checksum, and delivers the replies that bear this identifier.
    ///
    /// - Throws: `SystemError` EACCES when `net.ipv4.ping_group_range` holds no group of the process;
    ///   EAFNOSUPPORT when the host has no such family.
    public static func ping(_ family: IPAddress.Family) throws(SystemError) -> Socket {
        try echo(family, type: Int32(SOCK_DGRAM.rawValue))
    }

    /// The same as a raw socket, which gets every echo reply that comes to the host; those of IPv4 with
    /// their IP header.
    ///
    /// - Throws: `SystemError` EPERM without CAP_NET_RAW; EAFNOSUPPORT as before.
    public static func rawPing(_ family: IPAddress.Family) throws(SystemError) -> Socket {
        let socket = try echo(family, type: Int32(SOCK_RAW.rawValue))
        try check(
            "setsockopt ICMP_FILTER",
            cnet_echo_replies_only(socket.descriptor, family == .v4 ? AF_INET : AF_INET6))
        return socket
    }

    private static func echo(
        _ family: IPAddress.Family, type: Int32
    ) throws(SystemError) -> Socket {
        try Socket(
            family: family == .v4 ? AF_INET : AF_INET6, type: type | Int32(SOCK_NONBLOCK.rawValue),
            protocol: Int32(family == .v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
    }

    /// A UDP socket whose only peer is `endpoint`: nobody else's datagrams come to it, and what ICMP
    /// says of the peer makes its calls fail.
    public static func asking(_ endpoint: Endpoint) throws(SystemError) -> Socket {
        let family = endpoint.address.nativeFamily
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = try Socket(family: family, type: type)
        try check("setsockopt IP_RECVERR", cnet_report_errors(socket.descriptor, family))
        try socket.connect(to: endpoint)
        return socket
    }

    /// A TCP socket on its way to `endpoint`: once it can be written to, `connectionError` tells
    /// whether it got there.
    public static func connecting(to endpoint: Endpoint) throws(SystemError) -> Socket {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = try Socket(family: endpoint.address.nativeFamily, type: type)
        try check("setsockopt SO_LINGER", cnet_reset_on_close(socket.descriptor))
        do throws(SystemError) {
            try socket.connect(to: endpoint)
        } catch  where error.code == EINPROGRESS {
        }
        return socket
    }

    /// What became of `connecting`: nil when the connection is there (socket(7), SO_ERROR).
    public var connectionError: SystemError? {
        let code = takeError()
        return code == 0 ? nil : SystemError("connect", code: code)
    }

    /// Sends one datagram to the peer, or to `endpoint` from a socket without one.
    ///
    /// - Throws: `SystemError` with the errno of send(2), which may concern an earlier datagram.
    public func sendNow(_ payload: [UInt8], to endpoint: Endpoint? = nil) throws(SystemError) {
        let flags = Int32(MSG_DONTWAIT)
        guard let endpoint else {
            let count = unsafe Glibc.send(descriptor, payload, payload.count, flags)
            if count < 0 { throw SystemError("send", code: errno) }
            return
        }
        unsafe try endpoint.withSocketAddress { address, size throws(SystemError) in
            let count = unsafe sendto(descriptor, payload, payload.count, flags, address, size)
            if count < 0 { throw SystemError("sendto", code: errno) }
        }
    }

    /// Reads a datagram that is there into `buffer`, which cuts what is longer.
    ///
    /// - Returns: its length in bytes and the address that it comes from, without a zone; nil when none
    ///   is there.
    /// - Throws: `SystemError` with what ICMP said of the peer.
    public func receiveNow(
        into buffer: inout [UInt8]
    ) throws(SystemError) -> (count: Int, source: IPAddress)? {
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let room = buffer.count
        // SAFETY: sockaddr_in6 has room for either family's address.
        let count = unsafe withUnsafeMutablePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe recvfrom(descriptor, &buffer, room, Int32(MSG_DONTWAIT), $0, &size)
            }
        }
        if count >= 0 { return (count, IPAddress(native: name)) }
        if errno == EAGAIN || errno == EINTR { return nil }
        throw SystemError("recv", code: errno)
    }
}
