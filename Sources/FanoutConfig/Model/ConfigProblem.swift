// SPDX-License-Identifier: Apache-2.0

/// One thing that is wrong, or worth a warning, in a configuration file. Always a single line.
public struct ConfigProblem: Error, Equatable, Sendable {
    /// The file as the caller named it.
    public let file: String
    /// Counted from 1; nil when the file as a whole is meant.
    public let line: Int?
    /// Counted from 1, in Unicode scalars; nil when the file as a whole is meant.
    public let column: Int?
    /// The path of the key, such as `listeners[0].downstream[1].address`; empty when no key is
    /// meant.
    public let key: String
    /// What is wrong.
    public let what: String
    /// What to write instead.
    public let remedy: String

    public init(
        file: String, line: Int? = nil, column: Int? = nil, key: String = "", what: String,
        remedy: String
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.what = what
        self.remedy = remedy
    }

    init(at origin: Origin, what: String, remedy: String) {
        self.init(
            file: origin.file, line: origin.line, column: origin.column, key: origin.key,
            what: what, remedy: remedy)
    }
}

extension ConfigProblem: CustomStringConvertible {
    /// `file:line:column: key: what is wrong; what to write`, without the parts that are not known.
    public var description: String {
        let place = [file.printable(limit: 4096), line.map(String.init), column.map(String.init)]
        let head = place.compactMap { $0 }.joined(separator: ":")
        return [head, key, "\(what); \(remedy)"].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

extension ConfigProblem {
    /// Problems of a file as a whole come first, the others in the order of the text.
    static func isBefore(_ left: ConfigProblem, _ right: ConfigProblem) -> Bool {
        (left.line ?? 0, left.column ?? 0, left.key) < (
            right.line ?? 0, right.column ?? 0, right.key
        )
    }
}

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

    /// The same place with the path of a key in this section: for a key that is missing.
    func appending(_ name: String) -> Origin {
        var result = self
        result.key = key.isEmpty ? name : "\(key).\(name)"
        return result
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
