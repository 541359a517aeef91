// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Kernel programs that come from a file.
public enum ObjectFile {
    /// More than any object of bpf/ takes.
    public static let maximumBytes = 16 << 20

    /// The bytes of the file.
    ///
    /// - Throws: `BPFError` when it cannot be read or is longer than `maximumBytes`.
    public static func bytes(at path: String) throws(BPFError) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(path, Glibc.errno) }
        defer { _ = close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            // SAFETY: the kernel writes within the piece.
            let count = unsafe read(file, &piece, piece.count)
            if count < 0 { throw failure(path, Glibc.errno) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            if bytes.count > maximumBytes { throw failure(path, EFBIG) }
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> BPFError {
        BPFError(
            operation: "read", subject: path, errno: code,
            remedy: "name a file that can be read, such as one made from bpf/tc_fanout.bpf.c")
    }
}
