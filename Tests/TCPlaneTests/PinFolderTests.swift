// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import Glibc
import LabNet
import Testing
import Tiers

@Suite(
    "A folder of pins", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct PinFolderTests {
    /// What another user's process may have put there when the root of the file system allows it.
    enum Kind: String, CaseIterable { case link, owner, writable }

    private func put(_ kind: Kind, at path: String, beside other: String) {
        switch kind {
        case .link:
            #expect(mkdir(other, 0o700) == 0)
            #expect(symlink(other, path) == 0)
        case .owner:
            #expect(mkdir(path, 0o700) == 0)
            #expect(chown(path, 12345, 12345) == 0)
        case .writable:
            #expect(mkdir(path, 0o700) == 0)
            #expect(chmod(path, 0o777) == 0)
        }
    }

    @Test(
        "that another user could replace is refused, and left unchanged", arguments: Kind.allCases)
    func foreign(kind: Kind) throws {
        for name in ["udp-fanout", "udp-fanout/mine"] {
            let pins = try BPFFileSystem()
            let path = "\(pins.path)/\(name)"
            if name.contains("/") { #expect(mkdir("\(pins.path)/udp-fanout", 0o700) == 0) }
            put(kind, at: path, beside: "\(pins.path)/other")
            let error = #expect(throws: BPFError.self) {
                _ = try PinFolder(root: pins.path, name: "mine")
            }
            #expect(error?.subject == path)
            #expect(error?.remedy.isEmpty == false)
            PinFolder.removeStale(root: pins.path) { _ in true }
            var status = stat()
            #expect(lstat(path, &status) == 0)
        }
    }

    @Test("of the process's own user is opened repeatedly")
    func own() throws {
        let pins = try BPFFileSystem()
        for _ in 0..<2 {
            let folder = try PinFolder(root: pins.path, name: "mine")
            #expect(folder.path == "\(pins.path)/udp-fanout/mine")
        }
    }
}
