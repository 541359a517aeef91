// SPDX-License-Identifier: Apache-2.0

import Foundation
import PackagePlugin

/// Writes the version and the commit as Swift, anew before every build: what is built says what it was
/// built from.
@main
struct BuildStamp: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let root = context.package.directoryURL
        let folder = context.pluginWorkDirectoryURL.appending(path: "stamp")
        // Not a build command: those run when an input file changes, and a commit is no file.
        return [
            .prebuildCommand(
                displayName: "Writing the version",
                executable: URL(filePath: "/bin/sh"),
                arguments: [
                    root.appending(path: "scripts/stamp.sh").path, "swift",
                    folder.appending(path: "BuildStamp.swift").path,
                ],
                outputFilesDirectory: folder)
        ]
    }
}
