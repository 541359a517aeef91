// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Settings of the kernel below /proc/sys (sysctl(8)).
public enum KernelSetting {
    /// The first words of a setting; nil when the kernel has none of that name or does not show it.
    ///
    /// - Parameter name: with slashes, such as `net/core/rmem_max`.
    public static func text(_ name: String) -> String? { firstBytes(of: "/proc/sys/\(name)") }

    /// The same as a number, its first word.
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
