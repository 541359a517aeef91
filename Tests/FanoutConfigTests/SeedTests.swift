// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import Foundation
import Testing
import Tiers

/// The inputs that the fuzzer of configurations starts from, those included on which it ended once.
@Suite("Every seed of the fuzzer", .tags(.unit))
struct SeedTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzz/corpus/config")
    static let names =
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? []

    @Test("gives a configuration that reads as it is written, or problems", arguments: names)
    func seed(name: String) throws {
        let bytes = Array(try Data(contentsOf: Self.folder.appending(path: name)))
        switch Configuration.read(bytes, file: name) {
        case .valid(let configuration, _):
            #expect(Reading(configuration.effectiveYAML).configuration == configuration)
        case .invalid(let problems):
            #expect(!problems.isEmpty)
            for problem in problems {
                #expect(!problem.description.contains { $0.isNewline })
            }
        }
    }

    @Test("is there: some are valid and some are not")
    func both() throws {
        let valid = try Self.names.filter { name in
            let bytes = Array(try Data(contentsOf: Self.folder.appending(path: name)))
            if case .valid = Configuration.read(bytes, file: name) { return true }
            return false
        }
        #expect(valid.count > 3 && valid.count < Self.names.count - 3, "\(valid)")
    }
}
