// SPDX-License-Identifier: Apache-2.0

/// Untrusted bytes as text that cannot control a terminal.
enum Printable {
    /// Bytes shown of a binary datagram.
    static let shownBytes = 32
    /// Characters shown of a text.
    static let shownCharacters = 1024

    /// Whether a terminal only shows the character: no control characters, no marks that change the direction of
    /// the text (Unicode categories Cc, Cf, Co, Cn, Cs, Zl, Zp).
    static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7f { return scalar.value >= 0x20 }
        return switch scalar.properties.generalCategory {
        case .control, .format, .privateUse, .unassigned, .surrogate, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }

    /// The bytes as text, if they are UTF-8 and mostly plain, not counting a line end; else nil.
    static func text(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var plain = 0
        var other = 0
        for scalar in text.unicodeScalars {
            if isPlain(scalar) || ["\n", "\r", "\t"].contains(scalar) {
                plain += 1
            } else {
                other += 1
            }
        }
        return plain > other ? text : nil
    }

    /// A text on one line, safe for a terminal: with escapes such as `\n`, `\u{1b}` and `\\`, and cut when it is long.
    static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(shownCharacters) {
            switch scalar {
            case "\\": line += "\\\\"
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case let scalar where isPlain(scalar): line.unicodeScalars.append(scalar)
            default: line += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return text.unicodeScalars.count > shownCharacters
            ? line + "... (\(text.utf8.count) bytes)" : line
    }

    /// `de ad be ef`.
    static func hex(_ bytes: some Sequence<UInt8>, separator: String = " ") -> String {
        bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
            .joined(separator: separator)
    }
}

/// A JSON value whose members keep their order (RFC 8259).
indirect enum JSON {
    case null
    case bool(Bool)
    case number(UInt64)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    static func optional(_ number: (some BinaryInteger)?) -> JSON {
        number.map { .number(UInt64(clamping: $0)) } ?? .null
    }
}

extension JSON: CustomStringConvertible {
    /// On one line, without spaces.
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): "\(value)"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ":" + $1.description }.joined(separator: ",")
                + "}"
        }
    }

    /// Escapes everything that is not plain, so that it is safe for a terminal too.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case let scalar where Printable.isPlain(scalar): quoted.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return quoted + "\""
    }
}
