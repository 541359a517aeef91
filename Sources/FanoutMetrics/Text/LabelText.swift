// SPDX-License-Identifier: Apache-2.0

/// Label values of the text format.
///
/// The format has three escapes: `\\`, `\"` and `\n`. Other characters are allowed, so control characters in a name
/// would affect a terminal. They are made visible: the value then contains the text `\x1b` or `\u202e`, with its
/// backslash escaped for the format.
public enum LabelText {
    /// Appends `value`, escaped, without the quotes around it. O(length).
    public static func append(_ value: String, to out: inout [UInt8]) {
        if value.utf8.allSatisfy(isPlain) {
            out.append(contentsOf: value.utf8)
            return
        }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": out.append(contentsOf: #"\\"#.utf8)
            case "\"": out.append(contentsOf: #"\""#.utf8)
            case "\n": out.append(contentsOf: #"\n"#.utf8)
            case _ where isInvisible(scalar): out.append(contentsOf: visible(scalar).utf8)
            default: out.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }

    /// Printable ASCII without escapes: the fast path for nearly every name.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20...0x7e).contains(byte) && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\"")
    }

    /// Control characters, and those that change how others are shown, such as a right-to-left override.
    static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func visible(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        let (letter, width) =
            switch scalar.value {
            case ...0xff: ("x", 2)
            case ...0xffff: ("u", 4)
            default: ("U", 8)
            }
        return #"\\"# + letter + String(repeating: "0", count: width - digits.count) + digits
    }
}
