// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A private BPF file system in a temporary folder. It goes with its last reference, together with its pins. Needs
/// root.
public final class BPFFileSystem: Sendable {
    public let path: String

    public init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "pins-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.path
        guard mount("bpf", path, "bpf", 0, "mode=0711") == 0 else { throw Failed("mount \(path)") }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Whether it has only the entries that the kernel adds to each one for debugging.
    public var isEmpty: Bool { pins(".").allSatisfy { $0.hasSuffix(".debug") } }

    /// The pins in the folder `name`, sorted; empty when there is no such folder.
    public func pins(_ name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(name)")) ?? []).sorted()
    }
}
