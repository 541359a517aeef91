// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A lock on a path, held for a moment, by a separate file beside it.
///
/// The file has mode 0600 and stays. A user who can read a file or folder can also lock it by flock(2), and so could
/// block a daemon.
struct PathLock {
    private let descriptor: Int32

    /// Longest wait for a process that holds it, nanoseconds.
    private static let patience: Int64 = 5_000_000_000

    /// - Throws: `Refusal.locked` when another process holds it for all this time.
    init(beside path: String) throws(UnixListener.Refusal) {
        let file = "\(path).lock"
        let end = MonotonicClock.now + Self.patience
        while true {
            let descriptor = try Self.open(file)
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                if Self.isAt(file, descriptor) {
                    Self.sign(descriptor)
                    self.descriptor = descriptor
                    return
                }
                // It has been replaced meanwhile.
                _ = close(descriptor)
                continue
            }
            let code = errno
            let holder = Self.holder(descriptor)
            _ = close(descriptor)
            guard code == EWOULDBLOCK || code == EINTR else {
                throw .system(SystemError("lock \(file)", code: code))
            }
            guard MonotonicClock.now < end else { throw .locked(file: file, pid: holder) }
            Pause.milliseconds(10)
        }
    }

    /// Releases the lock; call it once.
    func release() { _ = close(descriptor) }

    /// Opens the file, and replaces another user's file.
    private static func open(_ file: String) throws(UnixListener.Refusal) -> Int32 {
        for isLast in [false, true] {
            let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
            // SAFETY: the kernel reads the path up to its NUL.
            let descriptor = unsafe Glibc.open(file, flags, 0o600)
            let code = descriptor < 0 ? errno : EPERM
            if descriptor >= 0 {
                if isOwn(descriptor) { return descriptor }
                _ = close(descriptor)
            }
            // SAFETY: as above.
            guard !isLast, unsafe unlink(file) == 0 else {
                throw .system(SystemError("open \(file)", code: code))
            }
        }
        throw .system(SystemError("open \(file)", code: EPERM))
    }

    private static func isOwn(_ descriptor: Int32) -> Bool {
        var status = stat()
        // SAFETY: the kernel fills in the structure.
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    private static func isAt(_ file: String, _ descriptor: Int32) -> Bool {
        var (held, found) = (stat(), stat())
        // SAFETY: the kernel fills in the structures.
        return unsafe fstat(descriptor, &held) == 0 && lstat(file, &found) == 0
            && held.st_dev == found.st_dev && held.st_ino == found.st_ino
    }

    /// Writes the holder's pid, for the error of a process whose wait times out.
    private static func sign(_ descriptor: Int32) {
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(descriptor, 0)
        // SAFETY: the kernel reads as many bytes as the array has.
        _ = unsafe pwrite(descriptor, text, text.count, 0)
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var text = [UInt8](repeating: 0, count: 16)
        // SAFETY: the kernel writes at most as many bytes as the array has.
        let count = unsafe pread(descriptor, &text, text.count, 0)
        return Int32(
            String(decoding: text.prefix(max(0, count)).prefix { $0 != 10 }, as: UTF8.self))
    }
}
