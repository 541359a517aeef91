// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import FanoutConfig

@Suite("No file costs more than its length", .tags(.load), .serialized)
struct BudgetTests {
    /// Reads a file and says how long that took, the best of some runs: the machine may be busy.
    private func timed(_ bytes: [UInt8], runs: Int = 3) -> (Reading, Duration) {
        let clock = ContinuousClock()
        var best = Duration.seconds(1_000_000)
        var reading = Reading(bytes: [])
        for _ in 0..<runs {
            best = min(best, clock.measure { reading = Reading(bytes: bytes) })
        }
        return (reading, best)
    }

    /// A "billion laughs" file: each level names the one below nine times.
    static func bomb(levels: Int, asKeys: Bool) -> String {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...levels {
            let items = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(items)]\n"
        }
        return asKeys ? text + "{*a\(levels): 1, *a\(levels) : 2}\n" : text
    }

    @Test("a bomb of aliases is refused in under 50 ms", arguments: [false, true])
    func bomb(asKeys: Bool) {
        let (reading, time) = timed(Array(Self.bomb(levels: 12, asKeys: asKeys).utf8))
        #expect(reading.errors.first == "f:2:10: aliases are refused; write the value out")
        #expect(reading.errors.count >= 12 * 9)
        #expect(time < .milliseconds(50))
    }

    @Test("a file of 10 MB is refused in under 50 ms")
    func tooLong() {
        let bytes = [UInt8](repeating: UInt8(ascii: "["), count: 10 << 20)
        let (reading, time) = timed(bytes)
        #expect(
            reading.errors == [
                "f: the file is longer than 8388608 bytes; write fewer listeners or start a second daemon"
            ])
        #expect(time < .milliseconds(50))
    }

    @Test("deep nesting is refused in under 50 ms", arguments: ["[", "{a: ", "- ", "? "])
    func deep(opening: String) {
        let text = String(repeating: opening, count: SourceLimits.bytes / opening.utf8.count)
        let (reading, time) = timed(Array(text.utf8))
        #expect(reading.errors.count == 1)
        #expect(reading.errors[0].contains("nested deeper than 16 levels"))
        #expect(time < .milliseconds(50))
    }

    /// Patterns of which one and a half million repetitions make too many values.
    @Test(
        "too many values are refused before a tree is built from them",
        arguments: [("a: [", "1,"), ("a: {", "b,"), ("", "-\n"), ("", "b:\n")])
    func tooMany(opening: String, item: String) {
        let text = opening + String(repeating: item, count: 1_500_000)
        let (reading, time) = timed(Array(text.utf8), runs: 1)
        #expect(reading.errors.count == 1)
        #expect(reading.errors[0].contains("the file holds more than 1000000 values"))
        // A debug build looks at some million bytes a second.
        #expect(time < .seconds(20))
    }

    /// Texts that cost their square when a position is counted, or a word compared, once too often.
    static let long: [(String, String, String)] = [
        ("a: [", "*a,", "aliases are refused; write the value out"),
        ("", "\t", "a tab in the indentation; write spaces"),
        ("{\n", "\t\n", "this is not YAML"),
        ("listeners: 1\n", "settings: 1\n", "the key stands twice"),
        ("a: ", "x ", "a: unknown key; remove it"),
    ]

    @Test("a long file of one pattern is refused in bounded time", arguments: long)
    func longFile(opening: String, item: String, problem: String) {
        let count = 300_000 / item.utf8.count
        let (reading, time) = timed(Array((opening + String(repeating: item, count: count)).utf8))
        #expect(reading.errors.first?.contains(problem) == true, "\(reading.errors.prefix(2))")
        #expect(reading.errors.count <= SourceLimits.problems + 1)
        #expect(time < .seconds(5))
    }

    @Test("of very many errors the first thousand are shown and the others counted")
    func manyErrors() {
        let keys = (0..<3_000).map { "k\($0): 1\n" }.joined()
        let errors = Reading(keys + Reading.good).errors
        #expect(errors.count == 1_001)
        #expect(errors.first?.hasPrefix("f:1:1: k0: unknown key; ") == true)
        #expect(
            errors.last
                == "f: 2000 further problems are not shown; write what these lines say first")
    }

    private static func manyListeners(_ count: Int, port: (Int) -> Int) -> String {
        var text = "listeners:\n"
        for index in 0..<count {
            text +=
                "- {name: l\(index), bind: \"127.0.\(index / 250).\(index % 250):\(port(index))\", "
            text += "downstream: [{name: r, address: \"192.0.2.1:1\"}]}\n"
        }
        return text
    }

    @Test("10 000 listeners are served in bounded time")
    func tenThousand() {
        let (reading, time) = timed(
            Array(Self.manyListeners(10_000, port: { 1 + $0 }).utf8), runs: 1)
        #expect(reading.configuration?.listeners.count == 10_000)
        #expect(reading.configuration?.listeners.last?.name == "l9999")
        #expect(time < .seconds(20))
    }

    /// Listeners as a program would write them, a line for each receiver.
    private static func manyReceivers(listeners: Int, each: Int) -> String {
        var text = "listeners:\n"
        for listener in 0..<listeners {
            text += "- name: listener-\(listener)\n"
            text +=
                "  mode: tc_ebpf\n  interface: eth0\n  bind: \"192.0.2.\(listener + 1):2055\"\n  downstream:\n"
            for index in 0..<each {
                let place = listener * each + index
                text += "  - {name: receiver-\(index), "
                text +=
                    "address: \"10.\(place >> 16).\(place >> 8 & 255).\(place & 255):2055\", weight: 2}\n"
            }
        }
        return text
    }

    @Test(
        "64 listeners of 1 024 receivers each, all that the tables hold, are read in bounded time")
    func allThatFits() {
        let text =
            "settings: {max_downstream: 1024}\n" + Self.manyReceivers(listeners: 64, each: 1_024)
        let (reading, time) = timed(Array(text.utf8), runs: 1)
        #expect(reading.errors.isEmpty, "\(reading.errors.prefix(2))")
        #expect(reading.configuration?.listeners.count == 64)
        #expect(reading.configuration?.listeners.last?.downstreams.count == 1_024)
        #expect(time < .seconds(60))
    }

    @Test("10 000 listeners on one port are compared without comparing each with each")
    func onePort() {
        let (reading, time) = timed(
            Array(Self.manyListeners(10_000, port: { _ in 514 }).utf8), runs: 1)
        #expect(reading.configuration?.listeners.count == 10_000)
        #expect(time < .seconds(20))
    }

    @Test("a chain of 2 000 listeners that ends is no ring, and one that does not is")
    func chain() {
        func chain(to last: Int) -> String {
            var text = "listeners:\n"
            for index in 0..<2_000 {
                let next = index == 1_999 ? last : index + 2
                text += "- {name: l\(index), bind: \"192.0.2.1:\(index + 1)\", "
                text += "downstream: [{name: r, address: \"192.0.2.1:\(next)\"}]}\n"
            }
            return text
        }
        #expect(Reading(chain(to: 5_000)).errors.isEmpty)
        let ring = Reading(chain(to: 1)).errors
        #expect(ring.count == 1)
        #expect(ring.first?.contains("is a ring, so datagrams would go round for ever") == true)
    }
}
