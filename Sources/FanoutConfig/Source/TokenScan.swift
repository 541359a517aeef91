// SPDX-License-Identifier: Apache-2.0

/// Looks through the tokens of a file before any tree is built from it, and refuses what would make
/// the tree costly or its meaning doubtful: aliases, tags, block scalars, deep nesting, too many
/// values, a second document.
///
/// It splits the text where libyaml does, with one restriction that makes this possible without
/// tracking indentation: a quoted text ends on the line where it begins, and so does a plain one
/// inside `[` or `{`. Whatever passes here holds no alias in libyaml's eyes either (a test compares
/// the two on random texts). One pass, no allocation but the problems.
struct TokenScan {
    /// Everything that is refused, in line order; empty when a tree may be built.
    static func problems(of source: SourceText) -> [ConfigProblem] {
        var scan = TokenScan(source)
        scan.run()
        return scan.problems
    }

    let file: String
    let bytes: [UInt8]
    var problems: [ConfigProblem] = []
    var index = 0
    var line = 1
    var lineStart = 0
    /// How far columns have been counted on the line of the last report.
    var counted = (index: 0, column: 1)
    /// Set by a problem after which the rest cannot be told apart.
    var stopped = false

    var flowDepth = 0
    var nodes = 0
    var sawContent = false
    var documentEnded = false
    /// Nothing but blanks, `-` and `?` so far on this line.
    var atLineHead = true
    /// The token before: a separator lets an empty value follow, a plain text may run on.
    var previous = Previous.separator
    var previousLine = 1

    enum Previous { case separator, plainText, other }

    private init(_ source: SourceText) {
        file = source.file
        bytes = source.bytes
    }

    private mutating func run() {
        while !stopped, let byte = current {
            switch byte {
            case UInt8(ascii: " "): index += 1
            case UInt8(ascii: "\t"): tab()
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): lineBreak()
            case UInt8(ascii: "#"): skipToLineEnd()
            default: token(byte)
            }
        }
    }

    var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// The byte `offset` places on; a line feed behind the end, which ends tokens alike.
    func peek(_ offset: Int) -> UInt8 {
        index + offset < bytes.count ? bytes[index + offset] : UInt8(ascii: "\n")
    }

    func isBlankOrBreak(_ offset: Int) -> Bool {
        switch peek(offset) {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): true
        default: false
        }
    }

    mutating func report(_ what: String, _ remedy: String, at place: Int? = nil) {
        guard problems.count < SourceLimits.problems else {
            stopped = true
            return
        }
        // Scalars, as libyaml counts: every byte but the continuation bytes of UTF-8. Counting goes
        // on from the last report on the line, or a long line of aliases would cost its square.
        let place = place ?? index
        if counted.index < lineStart { counted = (lineStart, 1) }
        counted.column += bytes[counted.index..<place].count { $0 & 0xc0 != 0x80 }
        counted.index = place
        let column = counted.column
        problems.append(
            ConfigProblem(file: file, line: line, column: column, what: what, remedy: remedy))
    }

    mutating func stop(_ what: String, _ remedy: String, at place: Int? = nil) {
        report(what, remedy, at: place)
        stopped = true
    }

    private mutating func lineBreak() {
        index += peek(0) == UInt8(ascii: "\r") && peek(1) == UInt8(ascii: "\n") ? 2 : 1
        line += 1
        lineStart = index
        atLineHead = true
    }

    /// libyaml takes no tab before a block's first token, even on a line of blanks.
    private mutating func tab() {
        if atLineHead, flowDepth == 0 {
            stop("a tab stands in the indentation", "write spaces")
        }
        index += 1
    }

    mutating func skipToLineEnd() {
        while let byte = current, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
            guard checkPrintable() else { return }
            index += 1
        }
    }
}
