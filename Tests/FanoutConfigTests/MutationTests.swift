// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import GoldenVectors
import Testing
import Tiers

@Suite("No file crashes the reader", .tags(.unit))
struct MutationTests {
    /// One to eight random edits of the example: bytes changed, removed, doubled, moved.
    private func mutate(_ bytes: [UInt8], _ numbers: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        let pieces = [
            "\t", "\n", ":", "- ", "[", "]", "{", "}", "\"", "'", "#", "*a", "&a", "!!str ", "|",
            ">", "<<: ",
            "---\n", "0", "99999999999999999999", "no", "\u{0}", "\u{2028}", "é", "\\", "? ", ", ",
        ]
        for _ in 0..<Int.random(in: 1...8, using: &numbers) {
            let at = Int.random(in: 0..<bytes.count, using: &numbers)
            let end = min(at + Int.random(in: 1...40, using: &numbers), bytes.count)
            switch Int.random(in: 0..<6, using: &numbers) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &numbers)
            case 1: bytes.removeSubrange(at..<end)
            case 2: bytes.insert(contentsOf: bytes[at..<end], at: at)
            case 3:
                bytes.insert(
                    contentsOf: Array((pieces.randomElement(using: &numbers) ?? "").utf8), at: at)
            case 4: bytes = Array(bytes[..<max(1, at)])
            default: bytes.swapAt(at, end - 1)
            }
        }
        return bytes
    }

    @Test(
        "500 mutations of the example give a configuration or at least one problem, each on one line"
    )
    func mutations() {
        var numbers = SplitMix64(seed: 1)
        let example = Array(ExampleTests.everyKey.utf8)
        var valid = 0
        var invalid = 0
        for _ in 0..<500 {
            let bytes = mutate(example, &numbers)
            switch Configuration.read(bytes, file: "f") {
            case .valid(let configuration, _):
                valid += 1
                #expect(Reading(configuration.effectiveYAML).configuration == configuration)
            case .invalid(let problems):
                invalid += 1
                #expect(!problems.isEmpty)
                for problem in problems {
                    #expect(!problem.description.contains { $0.isNewline })
                    #expect(!problem.what.isEmpty && !problem.remedy.isEmpty)
                }
                #expect(problems.map { $0.line ?? 0 } == problems.map { $0.line ?? 0 }.sorted())
            }
        }
        // Otherwise the mutations would have shown nothing.
        #expect(valid > 20)
        #expect(invalid > 100)
    }
}
