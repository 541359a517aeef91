// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A BPF file system of one's own in a temporary folder, gone with its last reference, and with it what
/// is pinned in it. Needs root.
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

    /// Whether nothing is there but what the kernel puts into every one for its debugging.
    public var isEmpty: Bool { pins(".").allSatisfy { $0.hasSuffix(".debug") } }

    /// What is pinned in the folder `name`, in order; empty when there is none.
    public func pins(_ name: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(name)")) ?? []).sorted()
    }
}
