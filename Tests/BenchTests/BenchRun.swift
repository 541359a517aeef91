// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet

/// One run of the bench as its user starts it.
struct BenchRun {
    let status: Int32
    let output: String
    let errors: String

    /// A forwarder with udp-fanout's command line.
    static let fakeDaemon = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "fake-daemon.py").path

    /// Runs it to its end; `during` is called with its pid in the meantime.
    init(
        _ arguments: [String], environment: [String: String] = [:],
        during: (pid_t) throws -> Void = { _ in }
    ) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "bench-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let streams = try ["output", "errors"].map { name in
            let path = folder.appending(path: name)
            try Data().write(to: path)
            return (path: path, handle: try FileHandle(forWritingTo: path))
        }
        let process = Process()
        process.executableURL = URL(filePath: Files.product("bench"))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = streams[0].handle
        process.standardError = streams[1].handle
        try process.run()
        try during(process.processIdentifier)
        process.waitUntilExit()
        status = process.terminationStatus
        output = try String(contentsOf: streams[0].path, encoding: .utf8)
        errors = try String(contentsOf: streams[1].path, encoding: .utf8)
    }
}
