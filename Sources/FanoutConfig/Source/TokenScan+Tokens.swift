// SPDX-License-Identifier: Apache-2.0

extension TokenScan {
    /// One token, at its first byte; the order of the cases is that of libyaml's scanner.
    mutating func token(_ byte: UInt8) {
        guard checkPrintable(), checkDocument(byte), checkIndentation(), checkRunOn(byte) else {
            return
        }
        let blankFollows = isBlankOrBreak(1)
        switch byte {
        case UInt8(ascii: "["), UInt8(ascii: "{"): openFlow()
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            flowDepth = max(0, flowDepth - 1)
            advance(.other)
        case UInt8(ascii: ","): separator()
        case UInt8(ascii: "-") where blankFollows:
            countNode()
            advance(.separator, keepsHead: true)
        case UInt8(ascii: "?") where flowDepth > 0 || blankFollows: separator(keepsHead: true)
        case UInt8(ascii: ":") where flowDepth > 0 || blankFollows: separator()
        case UInt8(ascii: "*"):
            report("aliases are refused", "write the value out")
            skipName()
        case UInt8(ascii: "&"): skipName()
        case UInt8(ascii: "!"):
            report("tags are refused", "write the value without one")
            while !isBlankOrBreak(0) { index += 1 }
            previous = .other
        case UInt8(ascii: "|") where flowDepth == 0, UInt8(ascii: ">") where flowDepth == 0:
            stop("block texts are refused", "write the value on the line of its key")
        case UInt8(ascii: "'"), UInt8(ascii: "\""): quotedText(byte)
        default: plainText()
        }
        previousLine = line
        sawContent = true
    }

    private mutating func advance(_ kind: Previous, keepsHead: Bool = false) {
        index += 1
        previous = kind
        atLineHead = atLineHead && keepsHead
    }

    /// A separator behind another one leaves an empty value between them.
    private mutating func separator(keepsHead: Bool = false) {
        if previous == .separator { countNode() }
        advance(.separator, keepsHead: keepsHead)
    }

    private mutating func openFlow() {
        flowDepth += 1
        if flowDepth > SourceLimits.flowDepth {
            stop("nested deeper than \(SourceLimits.flowDepth) levels", "write fewer brackets")
        }
        countNode()
        advance(.separator)
    }

    private mutating func countNode() {
        nodes += 1
        if nodes > SourceLimits.nodes {
            stop(
                "the file holds more than \(SourceLimits.nodes) values",
                "write fewer listeners or start a second daemon")
        }
    }

    /// The name of an alias or an anchor: the characters that libyaml takes for one.
    private mutating func skipName() {
        index += 1
        while let byte = current,
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        {
            index += 1
        }
        previous = .other
        atLineHead = false
    }

    private mutating func quotedText(_ quote: UInt8) {
        let start = index
        countNode()
        index += 1
        while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
            guard checkPrintable() else { return }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                // What is escaped cannot close the quote; a line break ends the text all the same.
                index += 1
                if let next = current, next == quote || next == UInt8(ascii: "\\") { index += 1 }
            } else if byte == quote, quote == UInt8(ascii: "'"), peek(1) == quote {
                index += 2
            } else if byte == quote {
                advance(.other)
                return
            } else {
                index += 1
            }
        }
        stop("the quote is not closed on its line", "close it", at: start)
    }

    private mutating func plainText() {
        countNode()
        var afterBlank = false
        while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
            guard checkPrintable() else { return }
            if byte == UInt8(ascii: "#"), afterBlank { break }
            if byte == UInt8(ascii: ":"), isBlankOrBreak(1) || flowDepth > 0 && isFlowMark(1) {
                break
            }
            if flowDepth > 0, byte != UInt8(ascii: "?"), isFlowMark(0) { break }
            afterBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            index += 1
        }
        previous = .plainText
        atLineHead = false
    }

    private func isFlowMark(_ offset: Int) -> Bool {
        switch peek(offset) {
        case UInt8(ascii: ","), UInt8(ascii: "?"), UInt8(ascii: "["), UInt8(ascii: "]"),
            UInt8(ascii: "{"), UInt8(ascii: "}"):
            true
        default: false
        }
    }
}
