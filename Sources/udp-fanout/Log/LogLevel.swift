// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Logging

/// The levels that the command line and the environment know.
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

    /// The level in force: UDP_FANOUT_LOG before RUST_LOG before the flag.
    ///
    /// RUST_LOG may be meant for other programs and may hold filter directives; only a plain level
    /// counts. UDP_FANOUT_LOG is ours, and a mistake in it is one.
    ///
    /// - Throws: `ValidationError` for a value of UDP_FANOUT_LOG that is no level.
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
