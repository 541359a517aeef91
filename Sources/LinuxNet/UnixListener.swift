// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// A stream socket that listens at a path (unix(7)), for its owner and root only: mode 0600.
public final class UnixListener: Sendable {
    public let path: String
    private let descriptor: Int32
    /// The inode of the socket file, to recognise it.
    private let inode: UInt64
    private let poller: Poller

    /// Why no socket can listen at the path.
    public enum Refusal: Error, Equatable, Sendable {
        /// A process listens there; nil when its pid is unknown.
        case taken(pid: Int32?)
        /// The path is no socket.
        case notASocket
        /// A process holds the lock of the path too long; nil when its pid is unknown.
        case locked(file: String, pid: Int32?)
        case system(SystemError)
    }

    /// Listens at `path`. The file of a process that has ended without removing it is replaced.
    ///
    /// - Parameters:
    ///   - path: at most 107 bytes. Creates the last folder if it is missing.
    ///   - takingOver: whether to take the path from a process that listens there; it keeps its connections.
    public init(path: String, takingOver: Bool = false) throws(Refusal) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        // Fails when it exists, which is fine.
        unsafe _ = mkdir(folder.isEmpty ? "/" : folder, 0o755)
        // Two processes that start at once must not both replace the same dead socket.
        let lock = try PathLock(beside: path)
        defer { lock.release() }
        if !takingOver { try Self.expectFree(path) }
        // Listen beside it, then rename: the path always has a listener.
        let beside = "\(path).\(getpid())"
        unsafe _ = unlink(beside)
        let made: Int32
        let poller: Poller
        do throws(SystemError) {
            poller = try Poller()
            made = try check("bind \(path)", unsafe cnet_unix_listen(beside, 0o600, 16))
        } catch {
            throw .system(error)
        }
        guard unsafe rename(beside, path) == 0, let inode = Self.state(of: path)?.inode else {
            let code = errno
            unsafe _ = unlink(beside)
            _ = close(made)
            throw .system(SystemError("rename \(beside)", code: code))
        }
        (self.path, descriptor, self.inode, self.poller) = (path, made, inode, poller)
        // Fails only when memory is short, and then accept reports it at once.
        _ = cnet_poller_add(poller.handle, made, 0, 0)
    }

    deinit { _ = close(descriptor) }

    private static func expectFree(_ path: String) throws(Refusal) {
        guard let state = state(of: path) else { return }
        guard state.isSocket else { throw .notASocket }
        let answer = unsafe cnet_unix_connect(path, UnixStream.connectMilliseconds)
        switch answer {
        case 0...: throw .taken(pid: try? UnixStream(descriptor: answer).peer.pid)
        case -ECONNREFUSED: return
        // Its queue of connections stays full: it hangs or is stopped.
        case -EAGAIN: throw .taken(pid: nil)
        default: throw .system(SystemError("connect to \(path)", code: -answer))
        }
    }

    private static func state(of path: String) -> (inode: UInt64, isSocket: Bool)? {
        var state = stat()
        guard unsafe lstat(path, &state) == 0 else { return nil }
        return (UInt64(state.st_ino), state.st_mode & S_IFMT == S_IFSOCK)
    }

    /// Waits for the next connection.
    ///
    /// - Returns: nil once `end` has been called.
    public func accept() -> UnixStream? {
        while true {
            let ready = poller.wait(milliseconds: nil)
            if ready.contains(Poller.wakeToken) { return nil }
            let connection = cnet_unix_accept(descriptor)
            if connection >= 0 { return UnixStream(descriptor: connection) }
            // Such as out of descriptors: temporary, and must not become a busy loop.
            if connection != -EAGAIN { Pause.milliseconds(20) }
        }
    }

    /// Takes no more connections, and removes the file unless another process has taken the path over.
    public func end() {
        if Self.state(of: path)?.inode == inode { unsafe _ = unlink(path) }
        poller.wake()
    }
}
