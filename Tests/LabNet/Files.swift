// SPDX-License-Identifier: Apache-2.0

import CNet
public import Foundation
import Glibc

/// Descriptors and folders for children.
public enum Files {
    /// The null device, for reading.
    public static let null: Int32 = open("/dev/null", O_RDWR | O_CLOEXEC)

    /// Both ends of a stream, close-on-exec from the start, so that no other child inherits them.
    public static func streamPair() throws -> (Int32, Int32) {
        var pair: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw Failed("socketpair") }
        return (pair[0], pair[1])
    }

    /// The folder of the test bundle and the executables. Not from /proc/self/exe: in a private mount namespace it
    /// shows another path if the root is a chroot.
    public static let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()

    /// An executable of this package, built together with these tests.
    public static func product(_ name: String) -> String { products.appending(path: name).path }

    /// The root of the source tree, three folders above this file.
    public static let sources = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// The text of a file of the source tree; `path` is relative to its root.
    public static func source(_ path: String) throws -> String {
        try String(contentsOf: sources.appending(path: path), encoding: .utf8)
    }
}

/// A folder that is removed with its last reference. All users may read it.
public final class ScratchFolder: Sendable {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "lab-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        chmod(url.path, 0o755)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public func path(_ name: String) -> String { url.appending(path: name).path }

    /// Writes in place: the file keeps its inode.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        try write(Array(text.utf8), to: name)
    }

    @discardableResult
    public func write(_ content: [UInt8], to name: String) throws -> String {
        let path = path(name)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failed("open \(path)") }
        defer { close(descriptor) }
        var bytes = content[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Failed("write \(path)") }
            bytes = bytes.dropFirst(count)
        }
        return path
    }

    /// Writes a temporary file and renames it, so that readers never see a partial file.
    public func replace(_ name: String, with text: String) throws {
        let beside = try write(text, to: ".\(name).new")
        guard rename(beside, path(name)) == 0 else { throw Failed("rename \(beside)") }
    }
}
