// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet
import Testing

/// A daemon as its user sees it: a process with a configuration file, a log, metrics and an exit code.
struct DaemonUnderTest: Sendable {
    let process: ChildProcess
    let folder: ScratchFolder

    static let configName = "config.yaml"

    var pid: pid_t { process.pid }
    var log: [LogLine] { process.record.state.errors.compactMap { LogLine($0) } }

    /// Starts the daemon on `config`. A nil configuration writes no file and passes no `--config`.
    ///
    /// - Parameter prefix: a command that becomes the daemon, such as setpriv(1) with its options.
    init(
        _ config: String?, _ arguments: [String] = [], environment: [String: String] = [:],
        folder: ScratchFolder? = nil, prefix: [String] = [],
        passing: [(descriptor: Int32, name: String)] = []
    ) throws {
        self.folder = try folder ?? ScratchFolder()
        var all = arguments
        if let config {
            all += ["--config", try self.folder.write(config, to: Self.configName)]
        }
        let words = prefix + [Files.daemon] + all
        process = try ChildProcess(
            words[0], Array(words.dropFirst()), environment: Self.own(environment, self.folder),
            passing: passing,
            folder: self.folder)
    }

    /// The environment with a runtime folder for this daemon, where its control socket is.
    static func own(_ environment: [String: String], _ folder: ScratchFolder) -> [String: String] {
        ["RUNTIME_DIRECTORY": folder.url.path].merging(environment) { $1 }
    }

    var controlPath: String { folder.path("control.sock") }

    /// Starts it, waits until it runs, and kills it after `body`, also when that throws.
    static func running<Result>(
        _ config: String, _ arguments: [String] = [], environment: [String: String] = [:],
        folder: ScratchFolder? = nil, isolation: isolated (any Actor)? = #isolation,
        _ body: (DaemonUnderTest) async throws -> Result
    ) async throws -> Result {
        let daemon = try DaemonUnderTest(
            config, arguments, environment: environment, folder: folder)
        do {
            try await daemon.isRunning()
            let result = try await body(daemon)
            await daemon.process.end()
            return result
        } catch {
            await daemon.process.end()
            throw error
        }
    }

    /// Runs the executable to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], folder: ScratchFolder? = nil
    ) async throws -> (code: Int32, output: String, errors: [String]) {
        let folder = try folder ?? ScratchFolder()
        let process = try ChildProcess(
            Files.daemon, arguments, environment: own(environment, folder), folder: folder)
        let ending = try await process.exit()
        let state = process.record.state
        guard case .exited(let code) = ending else { throw Failed("\(ending)", EPROTO) }
        return (code, state.output.map { $0 + "\n" }.joined(), state.errors)
    }

    // MARK: Log

    func isRunning() async throws { try await logs("udp-fanout is running. Press Ctrl+C to stop.") }

    /// Waits for the `count`th log line with this message.
    @discardableResult
    func logs(
        _ message: String, times count: Int = 1, within limit: Duration = .seconds(60)
    ) async throws -> LogLine {
        try await process.record.wait("\(count) × '\(message)'", within: limit) { state in
            let found = state.errors.lazy.filter { $0.contains(message) }
                .compactMap { LogLine($0) }.filter { $0.message == message }
            return found.dropFirst(count - 1).first
        }
    }

    func times(_ message: String) -> Int {
        process.record.state.errors.count {
            $0.contains(message) && LogLine($0)?.message == message
        }
    }

    // MARK: Actions

    /// Ends it in order and expects that it logs that.
    func stop(_ signal: Int32 = SIGTERM, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        process.send(signal)
        let ending = try await process.exit()
        #expect(ending == .exited(0), sourceLocation: sourceLocation)
        #expect(times("udp-fanout stopped") == 1, sourceLocation: sourceLocation)
    }

    /// Replaces the file by rename and waits until it is active.
    func reload(_ config: String) async throws {
        let before = times(Self.reloaded)
        try folder.replace(Self.configName, with: config)
        try await logs(Self.reloaded, times: before + 1)
    }

    static let reloaded = "configuration reloaded"
    static let notReloaded = "configuration not reloaded, the previous one stays active"
}

/// Where the receivers of a listener come from.
enum Receivers {
    case written
    /// In a file of receivers.
    case found
    /// In a file of receivers that is removed before the daemon is started again.
    case vanished
}

extension DaemonUnderTest {
    /// Waits until it has saved the last-known receivers for the next start.
    func remembersReceivers() async throws {
        try await eventually("the receivers are saved") {
            FileManager.default.fileExists(atPath: controlPath + ".receivers")
        }
    }
}
