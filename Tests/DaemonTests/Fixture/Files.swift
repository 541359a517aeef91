// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Descriptors and folders for children.
enum Files {
    /// The null device, for reading.
    static let null: Int32 = open("/dev/null", O_RDWR | O_CLOEXEC)

    /// Both ends of a stream, close-on-exec from the start, so that no other child inherits them.
    static func streamPair() throws -> (Int32, Int32) {
        var pair: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw Failed("socketpair") }
        return (pair[0], pair[1])
    }

    /// A pipe that takes no more: what reads it, if anything does, and what a child may write to.
    static func fullPipe() throws -> (reader: Int32, writer: Int32) {
        var pair: [Int32] = [0, 0]
        guard pipe(&pair) == 0 else { throw Failed("pipe") }
        for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(pair[1], F_SETFL, O_NONBLOCK)
        let filling = [UInt8](repeating: 10, count: 4096)
        while Glibc.write(pair[1], filling, filling.count) > 0 {}
        _ = fcntl(pair[1], F_SETFL, 0)
        return (pair[0], pair[1])
    }

    /// The folder that the test bundle runs from, which is where the executables are.
    static let products = URL(
        filePath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments[0]
    ).deletingLastPathComponent()

    /// The daemon as it was built together with these tests.
    static let daemon = products.appending(path: "udp-fanout").path

    /// The text of a file of the source tree; `path` from its root, which is four steps up from here.
    static func source(_ path: String) throws -> String {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}

/// A folder that goes with its last reference. Anybody may read it.
final class ScratchFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "daemon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        chmod(url.path, 0o755)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// Writes in place: the file keeps its inode.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let path = path(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failed("open \(path)") }
        defer { close(descriptor) }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Failed("write \(path)") }
            bytes = bytes.dropFirst(count)
        }
        return path
    }

    /// Writes beside and renames, so that nobody sees the file half-written.
    func replace(_ name: String, with text: String) throws {
        let beside = try write(text, to: ".\(name).new")
        guard rename(beside, path(name)) == 0 else { throw Failed("rename \(beside)") }
    }
}
