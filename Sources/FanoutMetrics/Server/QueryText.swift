// SPDX-License-Identifier: Apache-2.0

/// The query of a request's target, `name=value&name=value`, with its percent signs (RFC 3986).
enum QueryText {
    /// The first value of `name`; nil when there is none, or none that is UTF-8.
    static func value(of name: String, in target: String) -> String? {
        guard let start = target.firstIndex(of: "?") else { return nil }
        let query = target[target.index(after: start)...].prefix { $0 != "#" }
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return decoded(parts[1]) }
        }
        return nil
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest.removeFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A value as it may stand in a query: all but letters, digits, `-`, `.`, `_` and `~` by number.
    static func encoded(_ value: String) -> String {
        var text = ""
        for byte in value.utf8 {
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "-._~".unicodeScalars.contains(scalar))
            let digits = String(byte, radix: 16, uppercase: true)
            text += isPlain ? String(scalar) : "%" + (byte < 16 ? "0" : "") + digits
        }
        return text
    }
}
