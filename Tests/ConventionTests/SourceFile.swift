// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One text file of the tree.
struct SourceFile {
    /// Relative to the root of the package, such as `Sources/LinuxNet/Socket.swift`.
    let path: String
    let text: String

    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    var folder: String { path.split(separator: "/").first.map(String.init) ?? "" }
    var kind: String { name.split(separator: ".").last.map(String.init) ?? "" }

    /// The lines with their numbers, from 1.
    var lines: [(number: Int, text: Substring)] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .map { ($0.offset + 1, $0.element) }
    }

    func finding(_ what: String, line: Int? = nil) -> Finding {
        Finding(path: path, line: line, what: what)
    }
}

/// A breach of a rule, printed as a compiler would.
struct Finding: CustomStringConvertible, Equatable {
    let path: String
    let line: Int?
    let what: String

    var description: String {
        line.map { "\(path):\($0): \(what)" } ?? "\(path): \(what)"
    }
}

extension Sequence<Finding> {
    /// One breach a line, for the comment of an expectation.
    var report: String { "\n" + map(\.description).joined(separator: "\n") }
}
