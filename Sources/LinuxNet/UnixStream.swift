// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// One end of a connection on this host (unix(7)): bytes, and descriptors beside them.
public final class UnixStream: Sendable {
    private let descriptor: Int32

    /// The process at the other end, as the kernel recorded it at the connect.
    public struct Peer: Equatable, Sendable {
        public let uid: UInt32
        /// Invalid once that process has ended.
        public let pid: Int32
    }

    /// - Parameter descriptor: a connected stream socket, which is closed with this object.
    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Connects to the socket that listens at `path`.
    ///
    /// - Throws: `SystemError` ENOENT when there is no such file, ECONNREFUSED when no process listens there any more,
    ///   EACCES when the file belongs to another user, ENAMETOOLONG beyond 107 bytes, EAGAIN when the listener accepts
    ///   no connection for `connectMilliseconds`.
    public init(connectingTo path: String) throws(SystemError) {
        descriptor = try check(
            "connect to \(path)", unsafe cnet_unix_connect(path, Self.connectMilliseconds))
    }

    /// Longest wait for room in a listener's queue of connections.
    static let connectMilliseconds: UInt32 = 2000

    deinit { _ = close(descriptor) }

    public var peer: Peer {
        get throws(SystemError) {
            var (uid, pid) = (UInt32(0), Int32(0))
            // SAFETY: the function writes one value behind each pointer before it returns.
            unsafe try check("getsockopt SO_PEERCRED", cnet_unix_peer(descriptor, &uid, &pid))
            return Peer(uid: uid, pid: pid)
        }
    }

    /// Sends all of `bytes`, and `descriptors`, which stay open here, with the first byte.
    ///
    /// - Parameters:
    ///   - bytes: at least one when there are descriptors.
    ///   - descriptors: at most `descriptorsMax`.
    /// - Throws: `SystemError` EPIPE when the other end is gone, EAGAIN after the time limit.
    public func send(_ bytes: [UInt8], descriptors: [Int32] = []) throws(SystemError) {
        var rest = bytes[...]
        var passing = descriptors
        while !rest.isEmpty {
            let piece = Array(rest)
            // SAFETY: both arrays outlive the call, which reads as much of them as it is told.
            let sent = unsafe cnet_send_descriptors(
                descriptor, piece, piece.count, passing, UInt32(passing.count))
            try check("sendmsg", Int32(clamping: sent))
            rest = rest.dropFirst(Int(sent))
            passing = []
        }
    }

    /// Descriptors that one `send` can carry.
    public static let descriptorsMax = Int(CNET_DESCRIPTORS_MAX)

    /// Waits for bytes.
    ///
    /// - Returns: up to 16 KiB, none when the other end has closed; and the descriptors received with them, which the
    ///   caller must close.
    /// - Throws: `SystemError` EAGAIN after the time limit.
    public func receive() throws(SystemError) -> (bytes: [UInt8], descriptors: [Int32]) {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        var descriptors = [Int32](repeating: -1, count: Self.descriptorsMax)
        var count: UInt32 = 0
        // SAFETY: the function writes at most as much as there is room for.
        let received = unsafe cnet_receive_descriptors(
            descriptor, &bytes, bytes.count, &descriptors, &count)
        try check("recvmsg", Int32(clamping: received))
        return (Array(bytes.prefix(Int(received))), Array(descriptors.prefix(Int(count))))
    }

    /// Limits how long a single `send` or `receive` may wait; then it fails with EAGAIN.
    public func limitWaiting(seconds: Int) throws(SystemError) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        for (name, option) in [("SO_RCVTIMEO", SO_RCVTIMEO), ("SO_SNDTIMEO", SO_SNDTIMEO)] {
            unsafe try check(
                "setsockopt \(name)",
                orError(setsockopt(descriptor, SOL_SOCKET, option, &time, size)))
        }
    }

    /// Ends the connection in both directions, which wakes all waiters.
    public func end() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
}
