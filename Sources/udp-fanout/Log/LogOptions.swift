// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import Logging

/// What every command that logs takes.
struct LogOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("l")],
        help: """
            trace, debug, info, warn or error. UDP_FANOUT_LOG in the environment overrides it, and so \
            does RUST_LOG when it holds a plain level.
            """)
    var logLevel: LogLevel?

    @Option(help: "How log lines look: text or json.")
    var logFormat = LogFormat.text

    /// Sets logging up, once for the process.
    ///
    /// - Parameter otherwise: the level when neither flag nor environment names one.
    func logger(otherwise: LogLevel) throws -> Logger {
        try Self.logger(flag: logLevel ?? otherwise, format: logFormat)
    }

    /// The same for a command with a flag of its own.
    static func logger(flag: LogLevel, format: LogFormat = .text) throws -> Logger {
        var environment: [String: String] = [:]
        for name in ["UDP_FANOUT_LOG", "RUST_LOG"] { environment[name] = Environment[name] }
        let chosen = try LogLevel.chosen(flag: flag, environment: environment)
        LoggingSystem.bootstrap { _ in
            switch format {
            case .text: LineLogHandler(level: chosen.level)
            case .json: JSONLogHandler(level: chosen.level)
            }
        }
        return Logger(label: "udp-fanout")
    }
}

enum LogFormat: String, CaseIterable, ExpressibleByArgument { case text, json }
