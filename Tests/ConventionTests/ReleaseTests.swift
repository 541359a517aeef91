// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// Requirements of a release: one version, reproducible bytes, a complete tarball.
@Suite("A release", .tags(.network))
struct ReleaseTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8)
    }

    /// Runs a program that must succeed.
    @discardableResult
    private static func run(
        _ name: String, _ arguments: String..., in folder: URL = SourceTree.root
    ) throws -> String {
        let command = try Command.run(name, arguments, in: folder)
        guard command.status == 0 else {
            throw CommandFailed(output: "\(name) \(arguments): \(command.errors)")
        }
        return command.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "release-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    private static func version() throws -> String {
        try text("VERSION").trimmingCharacters(in: CharacterSet(charactersIn: "\"\n"))
    }

    @Test("has its version in one place, and the changelog begins with it")
    func version() throws {
        let version = try Self.version()
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
        #expect(try Self.run("scripts/stamp.sh", "version") == version)
        let heading = try Self.text("CHANGELOG.md").split(separator: "\n")
            .first { $0.hasPrefix("## ") }
        #expect(heading?.hasPrefix("## \(version) (") == true, "\(heading ?? "no heading")")
        // Any other mention is a second place.
        let named = try SourceTree.sources().filter {
            ["Sources", "Plugins"].contains($0.folder) && $0.text.contains("= \"\(version)\"")
        }
        #expect(named.map(\.path) == [])
    }

    @Test("changelog has a section for each version, newest first, with its date or (unreleased)")
    func changelog() throws {
        let headings = try Self.text("CHANGELOG.md").split(separator: "\n")
            .filter { $0.hasPrefix("## ") }
        for (index, heading) in headings.enumerated() {
            let shape = /## (\d+)\.(\d+)\.(\d+) \((unreleased|\d{4}-\d\d-\d\d)\)/
            let match = try #require(heading.wholeMatch(of: shape), "\(heading)")
            #expect(index == 0 || match.output.4 != "unreleased")
        }
        let versions = headings.map {
            $0.split(separator: " ")[1].split(separator: ".").map { Int($0) ?? 0 }
        }
        for (newer, older) in zip(versions, versions.dropFirst()) {
            #expect(older.lexicographicallyPrecedes(newer))
        }
    }

    @Test("compiles each kernel program to the same bytes in every folder")
    func reproducible() throws {
        let programs = try FileManager.default
            .contentsOfDirectory(atPath: SourceTree.root.appending(path: "bpf").path)
            .filter { $0.hasSuffix(".bpf.c") }.map { $0.dropLast(".bpf.c".count) }
        #expect(programs.count >= 4)
        try Self.withFolder { folder in
            for place in ["a", "another/and/deeper"] {
                let bpf = folder.appending(path: place)
                try FileManager.default.createDirectory(
                    at: bpf.deletingLastPathComponent(), withIntermediateDirectories: true)
                try FileManager.default.copyItem(
                    at: SourceTree.root.appending(path: "bpf"), to: bpf)
                for program in programs {
                    try Self.run(
                        "sh", bpf.appending(path: "embed.sh").path, "clang", bpf.path,
                        String(program), bpf.appending(path: "\(program).c").path)
                }
            }
            for program in programs {
                let objects = try ["a", "another/and/deeper"].map {
                    try Data(contentsOf: folder.appending(path: "\($0)/\(program).bpf.o"))
                }
                // #expect on the collections themselves would search for the difference for minutes.
                let isSame = objects[0] == objects[1]
                #expect(isSame, "\(program)")
                #expect(objects[0].count > 1000, "\(program)")
            }
        }
    }

    @Test(
        "tarball has the same bytes wherever it is packed, names its commit, and has no build products"
    )
    func tarball() throws {
        let commit = try Self.run("git", "-c", "safe.directory=*", "rev-parse", "HEAD")
        let name = "udp-fanout-\(try Self.version())"
        try Self.withFolder { folder in
            try Self.run("scripts/dist.sh", "--source", folder.appending(path: "here").path)
            let clone = folder.appending(path: "clone")
            try Self.run(
                "git", "-c", "safe.directory=*", "clone", "--quiet", SourceTree.root.path,
                clone.path)
            try Self.run("scripts/dist.sh", "--source", "there", in: clone)
            let packed = try ["here", "clone/there"].map {
                try Data(contentsOf: folder.appending(path: "\($0)/\(name).tar.gz"))
            }
            let isSame = packed[0] == packed[1]
            #expect(isSame, "\(packed[0].count) and \(packed[1].count) bytes")

            try Self.run("tar", "xzf", "here/\(name).tar.gz", in: folder)
            let tree = folder.appending(path: name)
            let files = try Self.run("find", ".", "-type", "f", in: tree).split(separator: "\n")
                .map { String($0.dropFirst(2)) }
            #expect(files.contains("Package.swift") && files.contains("bpf/xdp_nat.bpf.c"))
            #expect(files.filter(Conventions.built) == [])
            #expect(try Self.run("scripts/stamp.sh", "commit", in: tree) == commit)
            let times = try [tree, SourceTree.root].map {
                try Self.run("scripts/stamp.sh", "time", in: $0)
            }
            #expect(times[0] == times[1])
            let described = try Self.run(
                "swift", "package", "describe", "--type", "json", in: tree)
            let package = try JSONSerialization.jsonObject(with: Data(described.utf8))
            #expect((package as? [String: Any])?["name"] as? String == "udp-fanout")
        }
    }

    @Test("lists its components in SPDX: every resolved package, the libraries, their dependencies")
    func billOfMaterials() throws {
        struct Document: Decodable {
            struct Package: Decodable {
                let SPDXID: String
                let name: String
                let versionInfo: String
            }
            struct Relationship: Decodable {
                let spdxElementId: String
                let relatedSpdxElement: String
            }
            let spdxVersion: String
            let packages: [Package]
            let relationships: [Relationship]
        }
        struct Resolved: Decodable {
            struct Pin: Decodable {
                struct State: Decodable { let version: String? }
                let identity: String
                let state: State
            }
            let pins: [Pin]
        }
        try Self.withFolder { folder in
            let dependencies = folder.appending(path: "dependencies.json")
            // The test run may hold the lock of the build folder.
            try Self.run(
                "swift", "package", "--ignore-lock", "show-dependencies", "--format", "json",
                "--output-path", dependencies.path)
            let text = try Self.run("scripts/sbom.py", "--dependencies", dependencies.path)
            let document = try JSONDecoder().decode(Document.self, from: Data(text.utf8))
            let resolved = try JSONDecoder().decode(
                Resolved.self, from: Data(Self.text("Package.resolved").utf8))
            #expect(document.spdxVersion == "SPDX-2.3")
            #expect(resolved.pins.count > 5)
            for pin in resolved.pins {
                let entry = document.packages.first { $0.name == pin.identity }
                #expect(entry?.versionInfo == pin.state.version, "\(pin.identity)")
            }
            #expect(document.packages.contains { $0.name == "libbpf-dev" })
            let ids = Set(document.packages.map(\.SPDXID)).union(["SPDXRef-DOCUMENT"])
            #expect(ids.count == document.packages.count + 1)
            for relationship in document.relationships {
                #expect(ids.contains(relationship.spdxElementId))
                #expect(ids.contains(relationship.relatedSpdxElement))
            }
            let mentioned = document.relationships.flatMap {
                [$0.spdxElementId, $0.relatedSpdxElement]
            }
            #expect(Set(mentioned) == ids, "nothing stands alone")
        }
    }
}
