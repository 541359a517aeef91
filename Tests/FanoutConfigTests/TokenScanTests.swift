// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers
import Yams

@testable import FanoutConfig

/// Numbers that are the same in every run, so that a failure can be had again (SplitMix64).
struct RepeatableNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}

@Suite("The scan before the tree sees what libyaml sees", .tags(.unit))
struct TokenScanTests {
    /// An alias makes one node stand at two places, so its marks do not ascend.
    private func holdsAlias(_ node: Node, after last: inout (Int, Int)) -> Bool {
        if let mark = node.mark {
            guard (mark.line, mark.column) >= last else { return true }
            last = (mark.line, mark.column)
        }
        switch node {
        case .scalar: return false
        case .sequence(let items): return items.contains { holdsAlias($0, after: &last) }
        case .mapping(let pairs):
            return pairs.contains {
                holdsAlias($0.key, after: &last) || holdsAlias($0.value, after: &last)
            }
        case .alias: return true
        }
    }

    private func depth(_ node: Node) -> Int {
        switch node {
        case .scalar, .alias: 0
        case .sequence(let items): 1 + (items.map(depth).max() ?? 0)
        case .mapping(let pairs):
            1 + (pairs.map { max(depth($0.key), depth($0.value)) }.max() ?? 0)
        }
    }

    @Test("no random text that passes holds an alias", arguments: 0..<8)
    func noAliasPasses(seed: UInt64) throws {
        let pieces = [
            "*a", " *a", ", *a", ": *a ", "- *a\n", "[*a", "{*a ", "&a ", "&a", "[", "]", "{", "}",
            ", ", ",", ":", ": ", "- ", "? ", "?", "'", "\"",
            "\\", " ", "  ", "\n", "\n", "\n  ", "\r\n", "#", " #", "a", "b", "|", ">", "!", "%",
            "@", "\t",
            "---\n", "...\n", "<<", "-", "''", "\\\"",
        ]
        var numbers = RepeatableNumbers(state: seed)
        var passed = 0
        var aliases = 0
        for _ in 0..<6_000 {
            // An anchor ahead, so that the alias is one that can be resolved.
            var text = "- &a x\n- "
            for _ in 0..<Int.random(in: 1...14, using: &numbers) {
                text += pieces.randomElement(using: &numbers) ?? ""
            }
            let tree = try? Yams.compose(yaml: text, .basic)
            guard let tree else { continue }
            var last = (0, 0)
            let hasAlias = holdsAlias(tree, after: &last)
            if hasAlias { aliases += 1 }
            guard let source = try? SourceText(Array(text.utf8), file: "f"),
                TokenScan.problems(of: source).isEmpty
            else { continue }
            passed += 1
            #expect(!hasAlias, "\(text.debugDescription)")
            #expect(depth(tree) <= 40, "\(text.debugDescription)")
        }
        // Otherwise the texts would have shown nothing.
        #expect(passed > 50)
        #expect(aliases > 30)
    }
}
