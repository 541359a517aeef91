// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LinuxNet
internal import Logging

/// One line a message on standard error: time, level, the message as alerts grep for it, then
/// `key="value"` pairs. Nothing that comes from outside can break a line or paint the terminal.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(level: Logger.Level) { logLevel = level }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { $1 }
        fields.merge(event.metadata ?? [:]) { $1 }
        let text = Self.line(
            time: WallClock.now.rfc3339, level: event.level, message: "\(event.message)",
            fields: fields)
        StandardStream.error.write(text)
    }

    static func line(
        time: String, level: Logger.Level, message: String, fields: Logger.Metadata
    ) -> String {
        var result = "\(time) \(level.label) \(escaped(message))"
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            result += " \(key)=\"\(escaped("\(value)"))\""
        }
        return result + "\n"
    }

    /// Control characters, line separators, quotes and backslashes as escapes.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator:
                    result += "\\u{\(String(scalar.value, radix: 16))}"
                default: result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }
}

extension Logger.Level {
    /// The level in capitals, all of one width but the two that matter most to the eye.
    var label: String {
        switch self {
        case .trace: "TRACE"
        case .debug: "DEBUG"
        case .info, .notice: " INFO"
        case .warning: " WARN"
        case .error, .critical: "ERROR"
        }
    }
}

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
