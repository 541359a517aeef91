// SPDX-License-Identifier: Apache-2.0

import Foundation
import SchemaCheck

/// The package as it lies on disk.
enum Tree {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// The files directly in a folder whose names end so, by their paths from the root.
    static func files(in folder: String, ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(ending) }.sorted().map { "\(folder)/\($0)" }
    }

    static func value(_ path: String) throws -> Value { try Value(yaml: text(path)) }
}
