// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Values as lines of JSON (RFC 8259): members in snake_case and in the order of the alphabet, so that
/// equal values are equal lines.
public enum ControlLine {
    /// Longest line that is read, bytes.
    public static let longestRequest = 64 << 10

    /// The line of a value, with its end.
    public static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // What is encoded here holds no number that JSON lacks: rates are finite.
        guard let line = try? encoder.encode(value) else { return Array("null\n".utf8) }
        return Array(line) + [UInt8(ascii: "\n")]
    }

    /// - Throws: `ControlFailure` when the line is not JSON of this shape.
    public static func decode<Value: Decodable>(
        _ type: Value.Type, from line: some Sequence<UInt8>
    ) throws(ControlFailure) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(type, from: Data(line))
        } catch {
            throw ControlFailure(
                "the line is not a request", remedy: "see docs/control-socket.md for what to write")
        }
    }
}

/// Takes bytes as they come and gives lines.
public struct LineSplitter: Sendable {
    private var rest: [UInt8] = []

    public init() {}

    /// Whether what has come without an end of line is longer than a request may be.
    public var isOverlong: Bool { rest.count > ControlLine.longestRequest }

    /// The lines that are whole now, without their ends; blank ones are left out.
    public mutating func take(_ bytes: [UInt8]) -> [[UInt8]] {
        rest += bytes
        var lines: [[UInt8]] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            if line.contains(where: { $0 != 13 && $0 != 32 && $0 != 9 }) {
                lines.append(Array(line))
            }
            rest.removeSubrange(...end)
        }
        return lines
    }
}
