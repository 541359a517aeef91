// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LinuxNet
internal import Logging

/// One JSON object a message on standard error, each on a line of its own: `timestamp` (RFC 3339), `level`, `message`
/// and `metadata`, an object of texts.
struct JSONLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(level: Logger.Level) { logLevel = level }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    private struct Line: Encodable {
        let timestamp: String
        let level: String
        let message: String
        let metadata: [String: String]?
    }

    func log(event: LogEvent) {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { $1 }
        fields.merge(event.metadata ?? [:]) { $1 }
        StandardStream.error.write(
            Self.line(
                time: WallClock.now.rfc3339, level: event.level, message: "\(event.message)",
                fields: fields))
    }

    static func line(
        time: String, level: Logger.Level, message: String, fields: Logger.Metadata
    ) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = Line(
            timestamp: time, level: level.label.filter { $0 != " " }.lowercased(),
            message: message, metadata: fields.isEmpty ? nil : fields.mapValues { "\($0)" })
        guard let data = try? encoder.encode(line) else { return "" }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
