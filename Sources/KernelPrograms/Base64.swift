// SPDX-License-Identifier: Apache-2.0

/// The encoding in which kernel programs lie in the binary (RFC 4648, section 4).
package enum Base64 {
    /// The bytes that `text` stands for; nil unless it is whole groups of four from the alphabet,
    /// padded with `=` at the end alone. O(n).
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let length = text.count
        guard length % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length / 4 * 3)
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
            } else {
                guard padding == 0, let digit = digit(character) else { return nil }
                group |= UInt32(digit) << (18 - 6 * UInt32(digits % 4))
            }
            digits += 1
            if digits % 4 == 0 {
                // Padding is for the last group: one `=` leaves two bytes, two leave one.
                guard padding == 0 || digits == length, padding <= 2 else { return nil }
                for index in 0..<(3 - padding) {
                    bytes.append(UInt8(truncatingIfNeeded: group >> (16 - 8 * UInt32(index))))
                }
                group = 0
            }
        }
        return bytes
    }

    /// The six bits of one letter.
    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
