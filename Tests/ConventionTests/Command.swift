// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program that has run to its end.
struct Command {
    let status: Int32
    let output: String
    let errors: String

    /// Runs `name` as found on PATH and waits for it. Its output goes through files, so that a full pipe cannot
    /// block it.
    static func run(
        _ name: String, _ arguments: [String], in folder: URL, environment: [String: String]? = nil
    ) throws -> Command {
        let captured = FileManager.default.temporaryDirectory
            .appending(path: "conventions-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: captured, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: captured) }
        let streams = try ["output", "errors"].map { stream in
            let path = captured.appending(path: stream)
            try Data().write(to: path)
            return (path: path, handle: try FileHandle(forWritingTo: path))
        }

        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.currentDirectoryURL = folder
        process.environment = environment ?? ProcessInfo.processInfo.environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = streams[0].handle
        process.standardError = streams[1].handle
        try process.run()
        process.waitUntilExit()
        let texts = try streams.map { stream in
            try stream.handle.close()
            return String(decoding: try Data(contentsOf: stream.path), as: UTF8.self)
        }
        return Command(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}

/// A program that had to succeed failed.
struct CommandFailed: Error, CustomStringConvertible {
    let output: String
    var description: String { output }
}
