// SPDX-License-Identifier: Apache-2.0

/// The text of a configuration file: UTF-8, not empty, not too long, without a byte order mark.
struct SourceText {
    let file: String
    let bytes: [UInt8]
    let text: String

    static let tooLong = (
        what: "the file is longer than \(SourceLimits.bytes) bytes",
        remedy: "write fewer listeners or start a second daemon"
    )

    init(_ bytes: [UInt8], file: String) throws(ConfigProblem) {
        guard bytes.count <= SourceLimits.bytes else {
            throw ConfigProblem(file: file, what: Self.tooLong.what, remedy: Self.tooLong.remedy)
        }
        guard !bytes.starts(with: [0xef, 0xbb, 0xbf]) else {
            throw ConfigProblem(
                file: file, line: 1, column: 1, what: "the file begins with a byte order mark",
                remedy: "save it as UTF-8 without one")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let (line, column) = Self.firstBadByte(of: bytes)
            throw ConfigProblem(
                file: file, line: line, column: column, what: "the file is not UTF-8",
                remedy: "save it as UTF-8")
        }
        self.file = file
        self.bytes = bytes
        self.text = text
    }

    private static func firstBadByte(of bytes: [UInt8]) -> (line: Int, column: Int) {
        var iterator = bytes.makeIterator()
        var decoder = UTF8()
        var place = (line: 1, column: 1)
        while case .scalarValue(let scalar) = decoder.decode(&iterator) {
            place = scalar == "\n" ? (place.line + 1, 1) : (place.line, place.column + 1)
        }
        return place
    }
}
