// SPDX-License-Identifier: Apache-2.0

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

    /// Everything that is not plainly printable is escaped, so that a terminal is safe from it too.
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
