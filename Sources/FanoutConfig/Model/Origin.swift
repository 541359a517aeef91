// SPDX-License-Identifier: Apache-2.0

/// Where something was written, so that a later stage can still name its line.
///
/// Any two origins are equal: where a value was written is no part of what it says, and a
/// configuration that is read back from its own text must equal the first.
struct Origin: Sendable {
    var file: String
    var line: Int?
    var column: Int?
    /// The path of the key.
    var key: String

    /// The place of something that was not read from a file.
    static let none = Origin(file: "configuration", line: nil, column: nil, key: "")

    /// The same place under another key: for a key that should stand there and does not.
    func under(_ key: String) -> Origin {
        Origin(file: file, line: line, column: column, key: key)
    }
}

extension Origin: Equatable {
    static func == (left: Origin, right: Origin) -> Bool { true }
}

/// A value and where it was written.
struct Located<Value> {
    var value: Value
    var origin: Origin
}

extension Located: Sendable where Value: Sendable {}
