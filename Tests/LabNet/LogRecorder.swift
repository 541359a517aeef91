// SPDX-License-Identifier: Apache-2.0

public import Logging
import Synchronization

/// Keeps all log events.
public final class LogRecorder: Sendable {
    /// One event.
    public struct Line: Sendable, CustomStringConvertible {
        public let level: Logger.Level
        public let message: String
        public let fields: [String: String]

        /// Level, message, fields sorted by key, and a blank.
        public var description: String {
            let pairs = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return (["\(level)", message] + pairs).joined(separator: " ") + " "
        }
    }

    private let kept = Mutex<[Line]>([])

    public init() {}

    public var lines: [Line] { kept.withLock { $0 } }

    /// The description of each event.
    public var texts: [String] { lines.map(\.description) }

    public func lines(_ message: String) -> [Line] { lines.filter { $0.message == message } }

    public func count(_ message: String) -> Int { lines(message).count }

    /// The messages of all levels.
    public var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

    private func keep(_ line: Line) { kept.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).mapValues { "\($0)" }
            recorder.keep(
                Line(level: event.level, message: "\(event.message)", fields: fields))
        }
    }
}
