// SPDX-License-Identifier: Apache-2.0

/// Addresses as text, both ways, without the C library: FanoutCore makes no system call.
enum AddressText {
    /// Dotted decimal. Fast, because thousands of unnamed receivers are named by their address.
    static func v4(_ bits: UInt32) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(15)
        for shift: UInt32 in [24, 16, 8, 0] {
            let byte = UInt8(truncatingIfNeeded: bits >> shift)
            if byte >= 100 { digits.append(48 + byte / 100) }
            if byte >= 10 { digits.append(48 + byte / 10 % 10) }
            digits.append(48 + byte % 10)
            if shift > 0 { digits.append(46) }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    static func parseV4(_ text: some StringProtocol) -> UInt32? {
        var (value, dots): (UInt32, Int) = (0, 0)
        var (part, digits): (UInt32, Int) = (0, 0)
        for byte in text.utf8 {
            switch byte {
            case 48...57:
                // Refuses a leading zero: some parsers read 010 as octal.
                guard digits == 0 || part > 0 else { return nil }
                part = part * 10 + UInt32(byte - 48)
                digits += 1
                guard part <= 255 else { return nil }
            case 46:
                guard digits > 0, dots < 3 else { return nil }
                value = value << 8 | part
                (part, digits, dots) = (0, 0, dots + 1)
            default: return nil
            }
        }
        return dots == 3 && digits > 0 ? value << 8 | part : nil
    }

    static func parseV6(_ text: some StringProtocol) -> IPAddress? {
        let pieces = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var zone: String?
        if pieces.count == 2 {
            guard isZone(pieces[1]) else { return nil }
            zone = String(pieces[1])
        }
        guard let groups = groups(of: String(pieces[0])) else { return nil }
        let high = groups[0..<4].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        let low = groups[4..<8].reduce(UInt64(0)) { $0 << 16 | UInt64($1) }
        let address = IPAddress(high: high, low: low, zone: zone)
        // An IPv4 address has no zone, however it is written.
        return zone == nil || address.family == .v6 ? address : nil
    }

    /// A valid interface name: 1 to 15 visible ASCII characters (Linux, IFNAMSIZ and `dev_valid_name`), without a
    /// second `%`.
    private static func isZone(_ text: some StringProtocol) -> Bool {
        (1...15).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x21...0x7e).contains(byte) && !"%/:".utf8.contains(byte)
            }
    }

    /// The eight 16-bit groups of an address without its zone.
    private static func groups(of text: String) -> [UInt16]? {
        guard let gap = text.firstRange(ofColons: 2) else {
            return side(text, endsAddress: true).flatMap { $0.count == 8 ? $0 : nil }
        }
        let rest = text[gap.upperBound...]
        guard let front = side(String(text[..<gap.lowerBound]), endsAddress: false),
            let back = side(String(rest), endsAddress: true), front.count + back.count <= 7
        else { return nil }
        return front + Array(repeating: 0, count: 8 - front.count - back.count) + back
    }

    /// The groups on one side of `::`. The last part of an address may be IPv4, which makes two groups.
    private static func side(_ text: String, endsAddress: Bool) -> [UInt16]? {
        if text.isEmpty { return [] }
        var result: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if endsAddress, index == parts.count - 1, part.contains(".") {
                guard let v4 = parseV4(part) else { return nil }
                result += [UInt16(v4 >> 16), UInt16(truncatingIfNeeded: v4)]
            } else {
                guard (1...4).contains(part.utf8.count), part.allSatisfy(\.isHexDigit),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                result.append(group)
            }
        }
        return result
    }

    /// RFC 5952: lower case, no leading zeros, the first longest run of zero groups as `::`.
    static func v6(high: UInt64, low: UInt64) -> String {
        let groups = [high, low].flatMap { word in
            [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: word >> $0) }
        }
        var best = 0..<0
        var start = 0
        for index in 0...groups.count where index == groups.count || groups[index] != 0 {
            if index - start > max(best.count, 1) { best = start..<index }
            start = index + 1
        }
        func hex(_ part: ArraySlice<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        return best.isEmpty
            ? hex(groups[...])
            : hex(groups[..<best.lowerBound]) + "::" + hex(groups[best.upperBound...])
    }
}

extension FixedWidthInteger {
    /// Decimal digits only; the standard library's initialiser also accepts a sign.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        self.init(text, radix: 10)
    }
}

extension String {
    fileprivate func firstRange(ofColons count: Int) -> Range<Index>? {
        var index = startIndex
        while index < endIndex {
            let tail = self[index...]
            if tail.hasPrefix(String(repeating: ":", count: count)) {
                return index..<self.index(index, offsetBy: count)
            }
            index = self.index(after: index)
        }
        return nil
    }
}
