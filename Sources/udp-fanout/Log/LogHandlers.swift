// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LinuxNet
internal import Logging

/// One line a message on standard error, as text or as JSON.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let format: LogFormat

    init(level: Logger.Level, format: LogFormat) {
        logLevel = level
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { $1 }
        fields.merge(event.metadata ?? [:]) { $1 }
        let line =
            switch format {
            case .text: Self.text(event, fields)
            case .json: Self.json(event, fields)
            }
        StandardStream.error.write(line + "\n")
    }

    /// Time, level, the message as alerts grep for it, then `key="value"` pairs. External text cannot break a line or
    /// send terminal codes.
    private static func text(_ event: LogEvent, _ fields: Logger.Metadata) -> String {
        var result = "\(WallClock.now.rfc3339) \(event.level.label) \(escaped("\(event.message)"))"
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            result += " \(key)=\"\(escaped("\(value)"))\""
        }
        return result
    }

    /// One object: `timestamp` (RFC 3339), `level`, `message` and `metadata`, an object of strings.
    private static func json(_ event: LogEvent, _ fields: Logger.Metadata) -> String {
        struct Line: Encodable {
            let timestamp: String
            let level: String
            let message: String
            let metadata: [String: String]?
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = Line(
            timestamp: WallClock.now.rfc3339,
            level: event.level.label.filter { $0 != " " }.lowercased(),
            message: "\(event.message)",
            metadata: fields.isEmpty ? nil : fields.mapValues { "\($0)" })
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? ""
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
    /// The level in capitals, padded to five characters.
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
