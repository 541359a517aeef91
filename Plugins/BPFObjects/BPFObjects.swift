// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackagePlugin

/// Compiles every `bpf/*.bpf.c` and hands the objects to the target as Swift source, so that
/// `swift build` alone gives a daemon with its kernel programs inside.
@main
struct BPFObjects: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL.appending(path: "bpf")
        let sources = try files(in: folder).filter { $0.lastPathComponent.hasSuffix(".bpf.c") }
        let headers =
            try files(in: folder.appending(path: "include/lb"))
            + files(in: folder.appending(path: "lib"))
        let embed = folder.appending(path: "embed.sh")
        let clang = try context.tool(named: "clang").url

        return sources.map { source in
            let name = source.lastPathComponent.replacingOccurrences(of: ".bpf.c", with: "")
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name).bpf.swift")
            return .buildCommand(
                displayName: "Compiling kernel program \(name)",
                executable: URL(filePath: "/bin/sh"),
                arguments: [embed.path, clang.path, folder.path, name, output.path],
                // Only the Swift source is declared: SwiftPM would take an object for a resource.
                inputFiles: [source, embed] + headers,
                outputFiles: [output])
        }
    }

    private func files(in folder: URL) throws -> [URL] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default
            .contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }
    }
}
