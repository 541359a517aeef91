// SPDX-License-Identifier: Apache-2.0

internal import CNet
public import FanoutCore
internal import Glibc

/// A socket that is closed with its owner.
public struct Socket: ~Copyable, Sendable {
    /// Valid as long as this value lives.
    public let descriptor: Int32

    /// A close-on-exec socket; `type` may carry SOCK_NONBLOCK.
    ///
    /// - Throws: `SystemError` with the errno of socket(2): EPERM without the capability that the kind
    ///   needs, EMFILE or ENFILE when descriptors run out.
    public init(family: Int32, type: Int32, protocol number: Int32 = 0) throws(SystemError) {
        let flags = type | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = try check("socket", orError(socket(family, flags, number)))
    }

    /// Takes over a descriptor, which is closed with this value.
    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = close(descriptor) }

    /// A TCP socket bound to `endpoint`, to hold a port.
    public static func boundStream(on endpoint: Endpoint) throws(SystemError) -> Socket {
        let socket = try Socket(
            family: endpoint.address.nativeFamily, type: Int32(SOCK_STREAM.rawValue))
        try socket.setOption("SO_REUSEADDR", level: SOL_SOCKET, SO_REUSEADDR, to: 1)
        try socket.bind(to: endpoint)
        return socket
    }

    public func bind(to endpoint: Endpoint) throws(SystemError) {
        unsafe try endpoint.withSocketAddress { address, size throws(SystemError) in
            _ = unsafe try check("bind", orError(Glibc.bind(descriptor, address, size)))
        }
    }

    public func connect(to endpoint: Endpoint) throws(SystemError) {
        unsafe try endpoint.withSocketAddress { address, size throws(SystemError) in
            _ = unsafe try check("connect", orError(Glibc.connect(descriptor, address, size)))
        }
    }

    public func setOption(
        _ name: String, level: Int32, _ option: Int32, to value: Int32
    ) throws(SystemError) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        unsafe try check(
            "setsockopt \(name)", orError(setsockopt(descriptor, level, option, &value, size)))
    }

    /// Wakes a thread that waits in a receive call, now and in every later call once the queue is empty. For a socket
    /// without a peer the kernel returns ENOTCONN but still does it.
    public func wakeReceiver() { _ = shutdown(descriptor, Int32(SHUT_RD)) }

    /// Whether a receive call would return a datagram or an error.
    public var hasInput: Bool { cnet_wait_readable(descriptor, 0) != 0 }

    /// The errno of an earlier operation, which the call clears (socket(7), SO_ERROR); 0 for none.
    public func takeError() -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the value has the size that the call is told.
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        return result < 0 ? errno : code
    }

    /// Datagrams that the kernel has dropped here: full buffer, bad checksum.
    public var kernelDrops: UInt64 { UInt64(max(0, cnet_socket_drops(descriptor))) }
}

/// -errno in place of -1.
func orError(_ result: Int32) -> Int32 { result < 0 ? -errno : result }

/// Sockets that another process has opened and bound.
extension Socket {
    /// Takes over a bound UDP socket, and makes it blocking, close-on-exec and able to share its port.
    ///
    /// - Throws: `SystemError` when it is no socket; the descriptor is then closed.
    public static func adoptingListener(_ descriptor: Int32) throws(SystemError) -> Socket {
        let socket = Socket(adopting: descriptor)
        try check("fcntl F_SETFD", orError(fcntl(descriptor, F_SETFD, FD_CLOEXEC)))
        let flags = try check("fcntl F_GETFL", orError(fcntl(descriptor, F_GETFL)))
        try check("fcntl F_SETFL", orError(fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)))
        try socket.setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
        return socket
    }

    /// The address of a bound UDP socket, without a zone; nil when it is no UDP socket, not bound, or has a peer (as a
    /// socket that is leaving its port has).
    public static func datagramName(of descriptor: Int32) -> Endpoint? {
        var type: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the value has the size that the call is told.
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size)
        guard result == 0, type == Int32(SOCK_DGRAM.rawValue),
            !hasPeer(descriptor), let name = try? name(of: descriptor)
        else { return nil }
        let port = UInt16(bigEndian: name.sin6_port)
        let family = Int32(name.sin6_family)
        guard port != 0, family == AF_INET || family == AF_INET6 else { return nil }
        return Endpoint(IPAddress(native: name), port: port)
    }

    private static func hasPeer(_ descriptor: Int32) -> Bool {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: sockaddr_storage has room for every address, and the call is told how much.
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getpeername(descriptor, $0, &size) == 0
            }
        }
    }

    /// The identity of an open socket on this host.
    public static func identity(of descriptor: Int32) -> UInt64 {
        var state = stat()
        return unsafe fstat(descriptor, &state) == 0 ? UInt64(state.st_ino) : 0
    }
}

/// Single datagrams, for code that is not on the hot path.
extension Socket {
    /// Sends one datagram to the peer that the socket is connected to.
    ///
    /// - Returns: whether the kernel accepted it: false when its buffer is full, or the peer has answered an earlier
    ///   datagram with ICMP port unreachable.
    public func send(_ payload: [UInt8]) -> Bool {
        unsafe Glibc.send(descriptor, payload, payload.count, Int32(MSG_DONTWAIT))
            == payload.count
    }

    /// Waits for a datagram and reads it into `buffer`; a longer one is cut.
    ///
    /// - Returns: its length in bytes; 0 also when `wakeReceiver` ended the wait; nil on an error.
    public func receive(into buffer: inout [UInt8]) -> Int? {
        while true {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return count }
            if errno != EINTR { return nil }
        }
    }
}

/// The local address of the socket (getsockname(2)).
extension Socket {
    /// The port that the socket is bound to; after a bind to port 0, the chosen one.
    public var boundPort: UInt16 {
        // The port has the same offset in both families' addresses.
        get throws(SystemError) { UInt16(bigEndian: try name.sin6_port) }
    }

    /// The address that the socket is bound to, without a zone; for a connected socket, the source that the kernel has
    /// chosen.
    public var boundAddress: IPAddress {
        get throws(SystemError) { IPAddress(native: try name) }
    }

    private var name: sockaddr_in6 {
        get throws(SystemError) { try Self.name(of: descriptor) }
    }

    static func name(of descriptor: Int32) throws(SystemError) -> sockaddr_in6 {
        var storage = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        // SAFETY: sockaddr_in6 has room for either family's address.
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        try check("getsockname", orError(result))
        return storage
    }
}

extension IPAddress {
    /// The address in a socket address of either family, without a zone.
    init(native name: sockaddr_in6) {
        // SAFETY: sockaddr_in6 holds either family's address in its 28 bytes, and the kernel has
        // written the family: IPv4 has its address at byte 4, IPv6 at byte 8.
        self = unsafe withUnsafeBytes(of: name) { bytes in
            if Int32(name.sin6_family) == AF_INET {
                let word = unsafe bytes.load(fromByteOffset: 4, as: UInt32.self)
                return IPAddress(v4: UInt32(bigEndian: word))
            }
            let high = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let low = unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            return IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        }
    }
}

/// Non-blocking sockets for probes.
extension Socket {
    /// For ICMP or ICMPv6 echo messages, allowed by the process's group (icmp(7)): the kernel sets identifier and
    /// checksum, and delivers the replies with this identifier.
    ///
    /// - Throws: `SystemError` EACCES when `net.ipv4.ping_group_range` includes no group of the process; EAFNOSUPPORT
    ///   when the host lacks the family.
    public static func ping(_ family: IPAddress.Family) throws(SystemError) -> Socket {
        try echo(family, type: Int32(SOCK_DGRAM.rawValue))
    }

    /// The same as a raw socket, which gets every echo reply to the host; those of IPv4 with the IP header.
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

    /// A UDP socket whose only peer is `endpoint`: it receives only the peer's datagrams, and ICMP errors about
    /// the peer make its calls fail.
    public static func asking(_ endpoint: Endpoint) throws(SystemError) -> Socket {
        let family = endpoint.address.nativeFamily
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = try Socket(family: family, type: type)
        try check("setsockopt IP_RECVERR", cnet_report_errors(socket.descriptor, family))
        try socket.connect(to: endpoint)
        return socket
    }

    /// A TCP socket that is connecting to `endpoint`: once it is writable, `connectionError` has the result.
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

    /// The result of `connecting`: nil when it is connected (socket(7), SO_ERROR).
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

    /// Reads a queued datagram into `buffer`; a longer one is cut.
    ///
    /// - Returns: its length in bytes and its source address, without a zone; nil when the queue is empty.
    /// - Throws: `SystemError` with an ICMP error about the peer.
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
