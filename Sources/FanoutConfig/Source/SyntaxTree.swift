// SPDX-License-Identifier: Apache-2.0

internal import Yams

/// The tree of values that libyaml reads from a text that passed `TokenScan`.
struct SyntaxTree {
    /// A place as libyaml counts: from 1, columns in Unicode scalars.
    struct Position: Hashable {
        let line: Int
        let column: Int

        init(_ mark: Mark) { (line, column) = (mark.line, mark.column) }
    }

    let file: String
    let root: Node
    /// Keys that stand a second time further on in their mapping, by where they stand first.
    let repeated: [Position: String]

    init(_ source: SourceText) throws(ConfigProblem) {
        var bytes = source.bytes
        var repeated: [Position: String] = [:]
        var root: Node?
        // Yams builds no mapping with two equal keys. So that this hides no other problem, the
        // first of them is read under a name that nobody writes, and the decoder reports the
        // second.
        while true {
            do {
                root = try Self.compose(String(decoding: bytes, as: UTF8.self))
                break
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                let place = Position(context.mark)
                // Each round reads the text once more, so a long one gets fewer.
                guard repeated.count < 16,
                    bytes.count * repeated.count < SourceLimits.bytesReadAgain,
                    repeated.updateValue(keys[0], forKey: place) == nil,
                    Self.rename(keyAt: place, in: &bytes, round: repeated.count)
                else { throw Self.repetition(of: keys[0], at: context.mark, in: source) }
            } catch {
                throw Self.problem(of: error, in: source)
            }
        }
        guard let root else {
            throw ConfigProblem(
                file: source.file, what: "the file is empty", remedy: "write at least listeners")
        }
        self.file = source.file
        self.root = root
        self.repeated = repeated
    }

    /// Without a resolver no value becomes anything but text: `no` and `1:30` stay what they are.
    private static func compose(_ text: String) throws -> Node? {
        try Parser(yaml: text, resolver: .basic, constructor: .default, encoding: .utf8)
            .singleRoot()
    }

    /// Puts a private-use character in the place of the key's first one, so that columns stay.
    private static func rename(keyAt place: Position, in bytes: inout [UInt8], round: Int) -> Bool {
        let lines = bytes.split(
            separator: UInt8(ascii: "\n"), maxSplits: place.line, omittingEmptySubsequences: false)
        guard place.line <= lines.count else { return false }
        var start = lines[place.line - 1].startIndex
        for _ in 1..<place.column { start = next(after: start, in: bytes) }
        if start < bytes.count, [UInt8(ascii: "'"), UInt8(ascii: "\"")].contains(bytes[start]) {
            start += 1
        }
        guard start < bytes.count, let mark = Unicode.Scalar(UInt32(0xe000 + round)) else {
            return false
        }
        bytes.replaceSubrange(start..<next(after: start, in: bytes), with: Array(String(mark).utf8))
        return true
    }

    /// The first byte of the scalar after the one at `index`.
    private static func next(after index: Int, in bytes: [UInt8]) -> Int {
        var index = min(index + 1, bytes.count)
        while index < bytes.count, bytes[index] & 0xc0 == 0x80 { index += 1 }
        return index
    }
}

extension SyntaxTree {
    private static func repetition(of key: String, at mark: Mark, in source: SourceText)
        -> ConfigProblem
    {
        ConfigProblem(
            file: source.file, line: mark.line, column: mark.column, key: key.printable(),
            what: "the key stands twice", remedy: "remove one of the two")
    }

    /// What libyaml says, with the place where it says it.
    private static func problem(of error: any Error, in source: SourceText) -> ConfigProblem {
        var place: Mark?
        var what = "this is not YAML"
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            place = mark
            what += ": " + problem
            if let context {
                what += ", \(context.text) that begins on line \(context.mark.line)"
            }
        case YamlError.reader(let problem, _, _, _): what += ": " + problem
        default: break
        }
        return ConfigProblem(
            file: source.file, line: place?.line, column: place?.column, what: what,
            remedy: "check the indentation, the colons and the quotes here and on the line before")
    }
}
