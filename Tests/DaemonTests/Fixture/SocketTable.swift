// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet

/// The kernel's socket tables (proc(5), /proc/net).
///
/// The tables are no snapshots: a line can be missing while other sockets open and close.
enum SocketTable {
    struct Entry {
        let inode: UInt64
        /// The local port of a UDP socket or a TCP listener; nil for any other socket.
        let served: UInt16?
    }

    /// Every socket of this network namespace of the kinds that the daemon uses.
    static func entries() throws -> [Entry] {
        let internet = try ["udp", "udp6", "tcp", "tcp6"].flatMap { table in
            try lines(of: table).compactMap { fields -> Entry? in
                guard fields.count > 9, let inode = UInt64(fields[9]),
                    let port = fields[1].split(separator: ":").last.flatMap({
                        UInt16($0, radix: 16)
                    })
                else { return nil }
                // 0A is TCP_LISTEN; the rest of TCP's table are connections.
                let isServing = table.hasPrefix("udp") || fields[3] == "0A"
                return Entry(inode: inode, served: isServing ? port : nil)
            }
        }
        let local = try lines(of: "unix").compactMap { fields in
            fields.count > 6 ? UInt64(fields[6]).map { Entry(inode: $0, served: nil) } : nil
        }
        return internet + local
    }

    private static func lines(of table: String) throws -> [[Substring]] {
        try text(of: "/proc/net/\(table)").split(separator: "\n").dropFirst()
            .map { $0.split(separator: " ") }
    }

    /// The whole table. A read returns a page of it at most, and Foundation takes the first short read of a file
    /// without a size for its end.
    private static func text(of path: String) throws -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CocoaError(.fileReadNoSuchFile) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var page = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(file, &page, page.count)
            if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += page[..<count]
        }
    }

    /// Whether anything serves `port`, UDP or TCP.
    static func serves(_ port: UInt16) throws -> Bool {
        try entries().contains { $0.served == port }
    }

    /// The ports that process `pid` serves, without those that the kernel picked for it.
    ///
    /// - Throws: `NeverHappened` when a socket of the process is in no table for 10 seconds.
    static func ports(of pid: pid_t) async throws -> Set<UInt16> {
        var known: [UInt64: UInt16?] = [:]
        var result: Set<UInt16> = []
        try await eventually("every socket of \(pid) is in a table") {
            for entry in try entries() { known[entry.inode] = .some(entry.served) }
            // The test runner may leave its sockets open, and every child inherits them.
            let inherited = Set(try descriptors(of: getpid()).compactMap(socketInode))
            let inodes = try descriptors(of: pid).compactMap(socketInode).filter {
                !inherited.contains($0)
            }
            result = Set(inodes.compactMap { known[$0] ?? nil }.filter { $0 < 32_768 })
            return inodes.allSatisfy { known[$0] != nil }
        }
        return result
    }

    /// What the open descriptors of `pid` refer to.
    static func descriptors(of pid: pid_t) throws -> [String] {
        let folder = "/proc/\(pid)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
    }

    /// What one descriptor of `pid` refers to.
    static func target(of descriptor: Int32, in pid: pid_t) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(descriptor)")
    }

    /// The processes that serve `port`, as `name (pid)`.
    static func holders(of port: UInt16) throws -> [String] {
        let inodes = Set(try entries().filter { $0.served == port }.map(\.inode))
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

    /// A mask of /proc/PID/status, such as SigIgn.
    static func mask(_ key: String, of pid: pid_t) throws -> UInt64 {
        let line = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            .split(separator: "\n").first { $0.hasPrefix("\(key):") }
        return line.flatMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) } ?? 0
    }
}
