// SPDX-License-Identifier: Apache-2.0

/// An error or a warning about a configuration file. Always a single line.
public struct ConfigProblem: Error, Equatable, Sendable {
    /// The file as the caller named it.
    public let file: String
    /// Counted from 1; nil if it concerns the whole file.
    public let line: Int?
    /// Counted from 1, in Unicode scalars; nil if it concerns the whole file.
    public let column: Int?
    /// The path of the key, such as `listeners[0].downstream[1].address`; empty without a key.
    public let key: String
    /// The cause.
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
    /// `file:line:column: key: what is wrong; what to write`, without unknown parts.
    public var description: String {
        let place = [file.printable(limit: 4096), line.map(String.init), column.map(String.init)]
        let head = place.compactMap { $0 }.joined(separator: ":")
        return [head, key, "\(what); \(remedy)"].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

extension ConfigProblem {
    /// Problems of the whole file come first, the others in text order.
    static func isBefore(_ left: ConfigProblem, _ right: ConfigProblem) -> Bool {
        (left.line ?? 0, left.column ?? 0, left.key) < (
            right.line ?? 0, right.column ?? 0, right.key
        )
    }
}

/// The position of a value, so that a later stage can name its line.
///
/// Any two origins are equal: the position is not part of the value, and a configuration that is read back from its
/// own text must equal the first.
struct Origin: Sendable {
    var file: String
    var line: Int?
    var column: Int?
    /// The path of the key.
    var key: String

    /// For values that were not read from a file.
    static let none = Origin(file: "configuration", line: nil, column: nil, key: "")

    /// The same place with the path of an absent key in this section.
    func appending(_ name: String) -> Origin {
        var result = self
        result.key = key.isEmpty ? name : "\(key).\(name)"
        return result
    }
}

extension Origin: Equatable {
    static func == (left: Origin, right: Origin) -> Bool { true }
}

/// A value and its position.
struct Located<Value> {
    var value: Value
    var origin: Origin
}

extension Located: Sendable where Value: Sendable {}
