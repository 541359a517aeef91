// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import Logging

/// The options of every command that logs.
struct LogOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("l")],
        help: """
            trace, debug, info, warn or error. UDP_FANOUT_LOG in the environment overrides it, and so \
            does RUST_LOG if it is one of these words. (default: info; demo: warn)
            """)
    var logLevel: LogLevel?

    @Option(help: "Log format: text or json.")
    var logFormat = LogFormat.text

    /// Sets up logging; called once in the process.
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
        LoggingSystem.bootstrap { _ in LineLogHandler(level: chosen.level, format: format) }
        return Logger(label: "udp-fanout")
    }
}

enum LogFormat: String, CaseIterable, ExpressibleByArgument { case text, json }

/// The levels on the command line and in the environment.
enum LogLevel: String, CaseIterable, ExpressibleByArgument {
    case trace, debug, info, warn, error

    var level: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .warn: .warning
        case .error: .error
        }
    }

    static var spellings: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// The active level: UDP_FANOUT_LOG before RUST_LOG before the flag.
    ///
    /// RUST_LOG may be meant for other programs and may have filter directives, so only a plain level is used.
    /// UDP_FANOUT_LOG is ours, and an unknown level in it is an error.
    ///
    /// - Throws: `ValidationError` for an unknown level in UDP_FANOUT_LOG.
    static func chosen(
        flag: LogLevel, environment: [String: String]
    ) throws -> LogLevel {
        if let text = environment["UDP_FANOUT_LOG"], !text.isEmpty {
            guard let level = LogLevel(rawValue: text.lowercased()) else {
                throw ValidationError(
                    "UDP_FANOUT_LOG: '\(LineLogHandler.escaped(text))' is not a level; write one "
                        + "of \(spellings)")
            }
            return level
        }
        if let text = environment["RUST_LOG"], let level = LogLevel(rawValue: text.lowercased()) {
            return level
        }
        return flag
    }
}
