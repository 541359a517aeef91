// SPDX-License-Identifier: Apache-2.0

extension TokenScan {
    /// Refuses characters that do not show, and those that libyaml would take for a line break or
    /// the end of the text while an editor shows neither.
    mutating func checkPrintable() -> Bool {
        let byte = bytes[index]
        if byte >= 0x20, byte < 0x7f { return true }
        if byte == UInt8(ascii: "\t") || byte & 0xc0 == 0x80 { return true }
        guard byte >= 0xc2, let scalar = scalarHere() else {
            return refuse(Unicode.Scalar(byte))
        }
        switch scalar.value {
        case 0x80...0x9f, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff: return refuse(scalar)
        default: return true
        }
    }

    private mutating func refuse(_ scalar: Unicode.Scalar) -> Bool {
        stop("the file holds the control character \(scalar.codePoint)", "remove it")
        return false
    }

    private func scalarHere() -> Unicode.Scalar? {
        var iterator = bytes[index..<min(index + 4, bytes.count)].makeIterator()
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return nil }
        return scalar
    }

    /// Handles `---`, `...` and directives, which stand in the first column; false when the token
    /// is done with.
    mutating func checkDocument(_ byte: UInt8) -> Bool {
        let isStart = isIndicator(UInt8(ascii: "-"))
        if (isStart && sawContent) || (documentEnded && !isIndicator(UInt8(ascii: "."))) {
            stop("a second document begins here", "keep one document in a file")
            return false
        }
        if isStart || isIndicator(UInt8(ascii: ".")) {
            documentEnded = !isStart
            // A document may be empty; a second start is a second document all the same.
            sawContent = true
            previous = .separator
            index += 3
            return false
        }
        if byte == UInt8(ascii: "%"), index == lineStart {
            stop("directives are refused", "remove the line")
            return false
        }
        return true
    }

    private func isIndicator(_ byte: UInt8) -> Bool {
        index == lineStart && (0...2).allSatisfy { peek($0) == byte } && isBlankOrBreak(3)
    }

    /// Blocks nest by indentation, so its width bounds their depth.
    mutating func checkIndentation() -> Bool {
        guard atLineHead, flowDepth == 0, index - lineStart > SourceLimits.indentation else {
            return true
        }
        stop("indented by more than \(SourceLimits.indentation) columns", "indent by two spaces")
        return false
    }

    /// A plain text inside brackets ends with its line: whether what follows belongs to it could
    /// not be told from the line alone.
    mutating func checkRunOn(_ byte: UInt8) -> Bool {
        guard flowDepth > 0, previous == .plainText, previousLine != line else { return true }
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): return true
        default:
            stop(
                "a text inside brackets runs over the end of its line",
                "write it on one line in quotes")
            return false
        }
    }
}
