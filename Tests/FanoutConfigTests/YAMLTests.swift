// SPDX-License-Identifier: Apache-2.0

import GoldenVectors
import Testing
import Tiers
import YAML

@Suite("The YAML reader", .tags(.unit))
struct YAMLTests {
    private func read(_ text: String, _ limits: YAMLLimits = YAMLLimits()) -> (
        root: YAMLNode?, faults: [YAMLFault]
    ) {
        let document = YAMLDocument(Array(text.utf8), limits: limits)
        return (document.root, document.faults)
    }

    @Test("takes block scalars and texts of several lines")
    func texts() {
        #expect(read("a: |\n  b\n  c\n").root?["a"]?.text == "b\nc\n")
        #expect(read("a: >-\n  b\n  c\n").root?["a"]?.text == "b c")
        #expect(read("a: 'b\n  c'\n").root?["a"]?.text == "b c")
        #expect(read("a: \"b\\\n  c\"\n").root?["a"]?.text == "bc")
        #expect(read("a: b\n  c\n").root?["a"]?.text == "b c")
        #expect(read("a: [b\n c, d]\n").root?["a"]?.items?.map(\.text) == ["b c", "d"])
    }

    @Test("leaves every plain value the text that it is", arguments: ["no", "012", "1:30", "1e3"])
    func plain(text: String) {
        #expect(read("a: \(text)\n").root?["a"]?.text == text)
    }

    @Test("gives each value its place, in Unicode scalars")
    func places() throws {
        let root = try #require(read("ä: {b: [1,\n  {c: é}]}\n").root)
        let list = try #require(root["ä"]?["b"])
        #expect((list.line, list.column) == (1, 8))
        let last = try #require(list.items?.last?["c"])
        #expect((last.line, last.column) == (2, 7))
    }

    @Test("reads JSON")
    func json() {
        let root = read(#"{"a": [1, true, null, "no"], "b": {}}"#).root
        #expect(root?["a"]?.items?.map(\.text) == ["1", "true", "null", "no"])
        #expect(root?["a"]?.items?.map(\.isNull) == [false, false, true, false])
        #expect(root?["b"]?.members?.isEmpty == true)
    }

    @Test("stops at the limits")
    func limits() {
        let deep = read("[[[1]]]", YAMLLimits(depth: 2))
        #expect(deep.root == nil && deep.faults.map(\.what) == ["nested deeper than 2 levels"])
        let many = read("[1, 2, 3]", YAMLLimits(nodes: 3))
        #expect(many.faults.map(\.what) == ["the file holds more than 3 values"])
        let faults = read("[*a, *b, *c]", YAMLLimits(faults: 2))
        #expect(faults.faults.map(\.column) == [2, 6])
    }

    /// Whether `node` holds no more levels than allowed and its places ascend.
    private func isTree(_ node: YAMLNode, depth: Int, after last: inout (Int, Int)) -> Bool {
        guard depth >= 0, (node.line, node.column) >= last else { return false }
        last = (node.line, node.column)
        switch node.content {
        case .scalar: return true
        case .sequence(let items):
            return items.allSatisfy { isTree($0, depth: depth - 1, after: &last) }
        case .mapping(let members):
            return members.allSatisfy {
                isTree($0.key, depth: depth - 1, after: &last)
                    && isTree($0.value, depth: depth - 1, after: &last)
            }
        }
    }

    @Test("makes a tree or a fault of every text, and a fault of every alias", arguments: 0..<8)
    func anyText(seed: UInt64) {
        let pieces = [
            "*a", " *a", ", *a", ": *a ", "- *a\n", "[*a", "{*a ", "&a ", "&a", "[", "]", "{", "}",
            ", ", ",", ":", ": ", "- ", "? ", "?", "'", "\"", "\\", " ", "  ", "\n", "\n",
            "\n  ", "\r\n", "#", " #", "a", "b", "|", ">", "!", "%", "@", "\t", "---\n", "...\n",
            "<<", "-", "''", "\\\"",
        ]
        var numbers = SplitMix64(seed: seed)
        var (trees, aliases) = (0, 0)
        for _ in 0..<6_000 {
            var text = "- &a x\n- "
            for _ in 0..<Int.random(in: 1...14, using: &numbers) {
                text += pieces.randomElement(using: &numbers) ?? ""
            }
            let (root, faults) = read(text)
            #expect((root == nil) == !faults.isEmpty, "\(text.debugDescription)")
            if faults.contains(where: { $0.what == "aliases are refused" }) { aliases += 1 }
            guard let root else { continue }
            trees += 1
            var last = (0, 0)
            #expect(isTree(root, depth: 16, after: &last), "\(text.debugDescription)")
        }
        // Otherwise the texts would have shown nothing.
        #expect(trees > 50)
        #expect(aliases > 30)
    }
}
