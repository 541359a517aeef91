// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The package on disk, without build products and hidden files.
enum SourceTree {
    /// The root of the package: three steps up from this file.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Every source file of the tree.
    static func sources() throws -> [SourceFile] {
        let folders = [
            "Benchmarks", "Fuzz", "Plugins", "Sources", "Tests", "bpf", "packaging", "scripts",
        ]
        return try folders.flatMap(files(below:)) + [file("Package.swift"), file(".ci/run")]
    }

    /// The names of the folders directly below `Sources`.
    static func modules() throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            at: root.appending(path: "Sources"), includingPropertiesForKeys: nil
        )
        .map(\.lastPathComponent).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The paths that git tracks; nil when the tree is not a checkout.
    static func tracked() throws -> [String]? {
        guard FileManager.default.fileExists(atPath: root.appending(path: ".git").path) else {
            return nil
        }
        let git = try Command.run(
            "git", ["-c", "safe.directory=*", "ls-files"], in: root)
        guard git.status == 0 else { throw CommandFailed(output: git.errors) }
        return git.output.split(separator: "\n").map(String.init)
    }

    private static func files(below folder: String) throws -> [SourceFile] {
        let kinds: Set = ["swift", "c", "h", "sh"]
        let start = root.appending(path: folder)
        guard FileManager.default.fileExists(atPath: start.path) else { return [] }
        let walk = FileManager.default.enumerator(atPath: start.path)
        var paths: [String] = []
        while let path = walk?.nextObject() as? String {
            if path.split(separator: "/").contains(where: { $0.hasPrefix(".") }) { continue }
            if kinds.contains(URL(filePath: path).pathExtension) {
                paths.append("\(folder)/\(path)")
            }
        }
        return try paths.sorted().map(file)
    }

    private static func file(_ path: String) throws -> SourceFile {
        let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        return SourceFile(path: path, text: text)
    }
}
