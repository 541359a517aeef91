// SPDX-License-Identifier: Apache-2.0

internal import CNet
public import FanoutCore
internal import Glibc

/// Sockets that another process has opened and bound.
extension Socket {
    /// Takes over a bound UDP socket, which from here on blocks, is closed on exec and may have others
    /// beside it on its port.
    ///
    /// - Throws: `SystemError` when it is no socket; the descriptor is closed then.
    public static func adoptingListener(_ descriptor: Int32) throws(SystemError) -> Socket {
        let socket = Socket(adopting: descriptor)
        try check("fcntl F_SETFD", orError(fcntl(descriptor, F_SETFD, FD_CLOEXEC)))
        let flags = try check("fcntl F_GETFL", orError(fcntl(descriptor, F_GETFL)))
        try check("fcntl F_SETFL", orError(fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)))
        try socket.setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
        return socket
    }

    /// Where a UDP socket is bound, without a zone; nil when it is none, is not bound, or has a peer, as
    /// those have that were about to leave their port.
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

    /// What tells an open socket from every other on this host as long as it is open.
    public static func identity(of descriptor: Int32) -> UInt64 {
        var state = stat()
        return unsafe fstat(descriptor, &state) == 0 ? UInt64(state.st_ino) : 0
    }
}
