// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The spelling of a probe's payload: text in which `\` begins an escape, or `hex:` and hexadecimal digits.
enum PayloadText {
    /// Why the text is not a payload, and what to write.
    struct Fault: Error {
        let what: String
        let remedy: String
    }

    private static let hexPrefix = "hex:"

    /// - Throws: `Fault` if the text is malformed or not 1...512 bytes.
    static func bytes(of text: String) throws(Fault) -> [UInt8] {
        guard text.utf8.count <= 2048 else {
            throw Fault(
                what: "is \(text.utf8.count) characters long", remedy: "write at most 512 bytes")
        }
        let bytes =
            text.hasPrefix(hexPrefix)
            ? try hexadecimal(text.dropFirst(hexPrefix.count)) : try escaped(text)
        guard (1...512).contains(bytes.count) else {
            throw Fault(
                what: "is \(bytes.count) bytes long",
                remedy: bytes.isEmpty
                    ? "write at least one byte, or payload_preset: empty"
                    : "write at most 512 bytes")
        }
        return bytes
    }

    private static func hexadecimal(_ digits: Substring) throws(Fault) -> [UInt8] {
        guard let bytes = [UInt8](hexadecimal: digits) else {
            throw Fault(
                what: "is not pairs of hexadecimal digits",
                remedy: "write them so: \"hex:000a ff\"; blanks do not count")
        }
        return bytes
    }

    private static func escaped(_ text: String) throws(Fault) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(byte)
            case UInt8(ascii: "0"): bytes.append(0)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "x"):
                let digits = rest.prefix(2)
                guard digits.count == 2,
                    let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16),
                    digits.first != UInt8(ascii: "+")
                else { throw unknownEscape }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: throw unknownEscape
            }
        }
        return bytes
    }

    private static var unknownEscape: Fault {
        Fault(
            what: "holds an unknown escape",
            remedy: #"write \xHH, \n, \r, \t, \0, or \\ for a backslash"#)
    }
}
