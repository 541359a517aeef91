// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the kernel says about bound sockets (proc(5), /proc/net).
enum SocketTable {
    struct Entry {
        let port: UInt16
        let inode: UInt64
    }

    /// Every UDP socket and every listening TCP socket of this network namespace.
    static func entries() throws -> [Entry] {
        try ["udp", "udp6", "tcp", "tcp6"].flatMap { table in
            let text = try String(contentsOfFile: "/proc/net/\(table)", encoding: .utf8)
            return text.split(separator: "\n").dropFirst().compactMap { line -> Entry? in
                let fields = line.split(separator: " ")
                guard fields.count > 9, let inode = UInt64(fields[9]),
                    let port = fields[1].split(separator: ":").last.flatMap({
                        UInt16($0, radix: 16)
                    })
                else { return nil }
                // 0A is TCP_LISTEN; the rest of TCP's table are connections.
                if table.hasPrefix("tcp"), fields[3] != "0A" { return nil }
                return Entry(port: port, inode: inode)
            }
        }
    }

    /// Whether anything serves `port`, UDP or TCP.
    static func serves(_ port: UInt16) throws -> Bool {
        try entries().contains { $0.port == port }
    }

    /// The ports that process `pid` serves, without those that the kernel picked for it.
    static func ports(of pid: pid_t) throws -> Set<UInt16> {
        let inodes = Set(try descriptors(of: pid).compactMap(socketInode))
        return Set(
            try entries().filter { inodes.contains($0.inode) && $0.port < 32_768 }.map(\.port))
    }

    /// What the open descriptors of `pid` lead to.
    static func descriptors(of pid: pid_t) throws -> [String] {
        let folder = "/proc/\(pid)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
    }

    /// What one descriptor of `pid` leads to.
    static func target(of descriptor: Int32, in pid: pid_t) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(descriptor)")
    }

    /// The processes that serve `port`, as `name (pid)`.
    static func holders(of port: UInt16) throws -> [String] {
        let inodes = Set(try entries().filter { $0.port == port }.map(\.inode))
        return try FileManager.default.contentsOfDirectory(atPath: "/proc")
            .compactMap { pid_t($0) }
            .filter { pid in
                let open = (try? descriptors(of: pid)) ?? []
                return open.compactMap(socketInode).contains(where: inodes.contains)
            }
            .map { pid in
                let name = try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)
                return "\((name ?? "?").trimmingCharacters(in: .newlines)) (\(pid))"
            }
    }

    private static func socketInode(_ target: String) -> UInt64? {
        guard target.hasPrefix("socket:[") else { return nil }
        return UInt64(target.dropFirst(8).dropLast())
    }

    /// A number of /proc/PID/status, such as VmRSS in KiB.
    static func status(_ key: String, of pid: pid_t) throws -> Int? {
        try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            .split(separator: "\n").first { $0.hasPrefix("\(key):") }
            .flatMap { $0.split(whereSeparator: { " \t".contains($0) }).dropFirst().first }
            .flatMap { Int($0) }
    }
}
