// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// Keeps what is logged.
final class LogRecorder: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let fields: [String: String]
    }

    private let kept = Mutex<[Line]>([])

    var lines: [Line] { kept.withLock { $0 } }

    func lines(_ message: String) -> [Line] { lines.filter { $0.message == message } }

    var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

    private func keep(_ line: Line) { kept.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

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
