// SPDX-License-Identifier: Apache-2.0

/// Formats numbers and names for HTML pages.
enum HumanText {
    /// A name of the configuration, escaped for text and quoted attributes. Invisible characters and those that
    /// change the reading direction are made visible.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where LabelText.isInvisible(scalar):
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// `1 234 567`, with narrow spaces that do not break.
    static func count(_ value: UInt64) -> String {
        var groups: [Substring] = []
        var digits = String(value)[...]
        while digits.count > 3 {
            groups.append(digits.suffix(3))
            digits.removeLast(3)
        }
        return ([digits] + groups.reversed()).joined(separator: "\u{202f}")
    }

    /// `950`, `12.3 k`, `4.56 M`: three digits. The script uses the same rule.
    static func rate(_ value: Double) -> String {
        let value = value.isFinite ? max(0, value) : 0
        if value == 0 || (9.95..<999.5).contains(value) { return decimal(value, places: 0) }
        if value < 9.95 { return decimal(value, places: 1) }
        let (scaled, unit) =
            value < 999_500
            ? (value / 1e3, "k") : value < 999_500_000 ? (value / 1e6, "M") : (value / 1e9, "G")
        let places = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0
        return decimal(scaled, places: places) + "\u{202f}\(unit)"
    }

    private static func decimal(_ value: Double, places: Int) -> String {
        let factor: UInt64 = [1, 10, 100][places]
        let rounded = UInt64((value * Double(factor)).rounded())
        guard places > 0 else { return String(rounded) }
        let rest = String(rounded % factor)
        return "\(rounded / factor)." + String(repeating: "0", count: places - rest.count) + rest
    }

    /// `3 d 4 h`, `4 h 5 min`, `5 min 6 s`.
    static func span(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60)
        if days > 0 { return "\(days) d \(hours) h" }
        if hours > 0 { return "\(hours) h \(minutes) min" }
        return minutes > 0 ? "\(minutes) min \(seconds % 60) s" : "\(seconds) s"
    }
}
