// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// What was logged.
final class LogLines: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: [String: String]
    }

    private let lines = Mutex<[Line]>([])

    var all: [Line] { lines.withLock { $0 } }

    func count(_ message: String) -> Int { all.count { $0.message == message } }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
        let lines: LogLines
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = Line(
                level: event.level, message: "\(event.message)",
                metadata: (event.metadata ?? [:]).mapValues { "\($0)" })
            lines.lines.withLock { $0.append(line) }
        }
    }
}

/// What was waited for did not come about.
struct NeverHappened: Error {}

/// Asks again and again until `condition` holds, for ten seconds at most.
func until(_ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(10)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened() }
        try await Task.sleep(for: .milliseconds(2))
    }
}
