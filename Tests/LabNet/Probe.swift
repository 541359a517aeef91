// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The resources of this process as the kernel reports them. Other tests may run at the same time, so both counts
/// select by a name or a port of the caller.
public enum Probe {
    /// The number of threads of this process with this name prefix; a name has at most 15 bytes.
    public static func threads(named prefix: String) -> Int {
        entries(of: "/proc/self/task").count {
            text(of: "/proc/self/task/\($0)/comm").hasPrefix(prefix)
        }
    }

    /// The number of UDP sockets of this host that are bound or connected to `port`.
    public static func udpSockets(at port: UInt16) -> Int {
        let digits = String(port, radix: 16, uppercase: true)
        let wanted = ":" + String(repeating: "0", count: 4 - digits.count) + digits
        return ["/proc/net/udp", "/proc/net/udp6"].reduce(0) { sum, path in
            sum
                + text(of: path).split(separator: "\n").dropFirst().count { line in
                    line.split(separator: " ")[1...2].contains { $0.hasSuffix(wanted) }
                }
        }
    }

    /// The number of open descriptors of this process.
    public static func descriptors() -> Int { entries(of: "/proc/self/fd").count - 1 }

    private static func entries(of path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func text(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(file, &piece, piece.count), count > 0 {
            bytes += piece[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
