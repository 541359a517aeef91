// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Files that fit into memory: configuration, tokens, certificates, state for the next process.
public enum SmallFile {
    /// The whole file.
    ///
    /// - Parameter limit: most bytes of the file.
    /// - Throws: the kernel's error; `EFBIG` when the file is longer than `limit`, `EISDIR` when it is a folder,
    ///   `ESPIPE` when it is a pipe or a device, which could block the reader for ever.
    public static func bytes(of path: String, limit: Int = 4 << 20) throws(SystemError) -> [UInt8] {
        // SAFETY: the kernel reads `path` up to its NUL.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw SystemError("open \(path)", code: errno) }
        defer { close(file) }
        var status = stat()
        // SAFETY: the kernel fills in the structure.
        guard unsafe fstat(file, &status) == 0 else {
            throw SystemError("fstat \(path)", code: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            throw SystemError("read \(path)", code: isFolder ? EISDIR : ESPIPE)
        }
        var result: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            // SAFETY: the kernel writes at most the bytes that `chunk` has.
            let count = unsafe chunk.withUnsafeMutableBytes { bytes in
                unsafe read(file, bytes.baseAddress, bytes.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read \(path)", code: errno) }
            guard count > 0 else { return result }
            result += chunk[..<count]
            guard result.count <= limit else { throw SystemError("read \(path)", code: EFBIG) }
        }
    }

    /// Replaces the file at `path` atomically: readers find either the old or the new content.
    ///
    /// - Parameter permissions: of the new file; by default only the process's user may read it.
    /// - Throws: the kernel's error; the old file is then unchanged.
    public static func replace(
        _ path: String, with bytes: [UInt8], permissions: UInt32 = 0o600
    ) throws(SystemError) {
        let beside = "\(path).new"
        // Remove the remains of an interrupted call.
        remove(beside)
        // SAFETY: the kernel reads the path up to its NUL.
        let file = unsafe open(
            beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions)
        guard file >= 0 else { throw SystemError("open \(beside)", code: errno) }
        defer { close(file) }
        var written = 0
        while written < bytes.count {
            // SAFETY: the kernel reads the bytes from `written` on, which `bytes` has.
            let count = unsafe bytes[written...].withUnsafeBytes { rest in
                unsafe write(file, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = SystemError("write \(beside)", code: count < 0 ? errno : ENOSPC)
                remove(beside)
                throw error
            }
            written += count
        }
        // SAFETY: the kernel reads the paths up to their NULs.
        guard unsafe rename(beside, path) == 0 else {
            let error = SystemError("rename \(beside)", code: errno)
            remove(beside)
            throw error
        }
    }

    private static func remove(_ path: String) {
        // SAFETY: the kernel reads the path up to its NUL.
        _ = unsafe unlink(path)
    }

    /// Whether the file belongs to the process's user and no other user may write to it.
    public static func isOwn(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: the kernel reads `path` up to its NUL and fills in the structure.
        guard unsafe lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
            && status.st_mode & 0o022 == 0
    }

    /// Whether the path exists, as any kind of file; links are not followed.
    public static func isThere(_ path: String) -> Bool {
        var status = stat()
        // SAFETY: the kernel reads `path` up to its NUL and fills in the structure.
        return unsafe lstat(path, &status) == 0
    }

    /// Whether the path exists and is readable.
    public static func exists(_ path: String) -> Bool {
        // SAFETY: the kernel reads `path` up to its NUL.
        unsafe access(path, R_OK) == 0
    }
}

/// Mounted file systems.
public enum FileSystem {
    /// BPF_FS_MAGIC of linux/magic.h.
    private static let bpfMagic: Int64 = 0xcafe_4a11

    /// Whether a BPF file system, for the pins of kernel modes, is mounted at `path`.
    public static func isBPF(at path: String) -> Bool { unsafe cnet_file_system(path) == bpfMagic }
}

/// Settings of the kernel below /proc/sys (sysctl(8)).
public enum KernelSetting {
    /// The value of a setting; nil when the kernel does not have or show it.
    ///
    /// - Parameter name: with slashes, such as `net/core/rmem_max`.
    public static func text(_ name: String) -> String? { firstBytes(of: "/proc/sys/\(name)") }

    /// The first word of the value as a number.
    public static func number(_ name: String) -> Int? {
        text(name)?.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
    }

    /// The beginning of a file, at most 4 KiB; nil when it cannot be read.
    public static func firstBytes(of path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { _ = close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // SAFETY: the call writes no more than the array holds.
        let count = unsafe read(file, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
