// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that fit into memory: configuration, tokens, certificates.
public enum SmallFile {
    /// The whole file.
    ///
    /// - Parameter limit: bytes that it may have.
    /// - Throws: the kernel's error; `EFBIG` when the file is longer than `limit`, `ESPIPE` when it is a pipe:
    ///   one without a writer would hold the reader up for ever.
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
        guard status.st_mode & S_IFMT != S_IFIFO else {
            throw SystemError("read \(path)", code: ESPIPE)
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

    /// Whether the path leads to something that may be read.
    public static func exists(_ path: String) -> Bool {
        // SAFETY: the kernel reads `path` up to its NUL.
        unsafe access(path, R_OK) == 0
    }
}
