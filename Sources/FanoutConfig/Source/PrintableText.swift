// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// Whether the scalar shows nothing of itself and may change how the text around it shows:
    /// controls, line separators, directional marks and the like.
    var isControl: Bool {
        if isASCII { return value < 0x20 || value == 0x7f }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    /// Whether Unicode gives the scalar no meaning; libyaml takes some of these only when escaped.
    var isUnassigned: Bool {
        guard !isASCII else { return false }
        return switch properties.generalCategory {
        case .privateUse, .unassigned: true
        default: false
        }
    }

    /// As `U+0007`.
    var codePoint: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension StringProtocol {
    /// The text on one line and of bounded length: what stands in a file never reaches a terminal
    /// or a log as it is.
    func printable(limit: Int = 64) -> String {
        var result = ""
        for scalar in unicodeScalars.prefix(limit) {
            if scalar.isControl {
                result += "<\(scalar.codePoint)>"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.dropFirst(limit).isEmpty ? result : result + "..."
    }

    /// The text between single quotes, for a problem's words.
    var quoted: String { "'\(printable())'" }
}
