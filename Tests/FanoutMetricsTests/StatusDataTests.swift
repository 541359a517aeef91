// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Foundation
import Testing
import Tiers

@Suite("the status page's numbers", .tags(.network))
struct StatusDataTests {
    private struct Numbers: Decodable {
        struct Listener: Decodable {
            let counts: [UInt64]
            let drops: [UInt64]
            let receivers: [[UInt64]]
        }
        let shape: String
        let at: Int
        let uptime: String
        let total: [UInt64]
        let listeners: [Listener]
    }

    private func numbers(_ snapshot: DaemonSnapshot) async throws -> (Numbers, page: String) {
        let (data, page) = try await withServer(snapshot: { snapshot }) { port in
            let client = try RawClient(port: port)
            return (try client.get("/status.json"), try client.get("/"))
        }
        #expect(data.header("content-type") == "application/json")
        #expect(data.header("cache-control") == "no-store")
        return (try JSONDecoder().decode(Numbers.self, from: Data(data.body)), page.text)
    }

    @Test("they are in the page's order, with sums over all listeners")
    func order() async throws {
        var second = ListenerCounters.sample("two", downstreams: 1)
        second.packetsReceived = 1
        second.drops = [:]
        second.downstreams[0].drops = [.refused: 2, .wouldBlock: 3]
        second.downstreams[0].packetsForwarded = 4
        second.downstreams[0].refusals = 6
        let (numbers, page) = try await numbers(.of([.sample("one"), second]))
        #expect(numbers.total == [101, 180, 10])
        #expect(
            numbers.listeners.map(\.counts) == [[100, 90, 10, 6400, 11], [1, 90, 0, 6400, 11]])
        // As the page has them: the reasons of the catalogue's order.
        #expect(numbers.listeners.map(\.drops) == [[7, 3], []])
        #expect(numbers.listeners.map(\.receivers) == [[], [[4, 5, 6]]])
        #expect(page.contains("data-shape=\"\(numbers.shape)\""))
    }

    @Test("their shape stays while numbers change, and changes with anything else")
    func shape() async throws {
        let first = StatusPageTests.snapshot()
        let shape = try await numbers(first).0.shape
        var counted = first
        counted.listeners[0].packetsReceived += 1
        counted.listeners[0].drops[.noHealthy] = 8
        counted.listeners[0].downstreams[0].packetsForwarded += 1
        counted.uptime += .seconds(2)
        #expect(try await numbers(counted).0.shape == shape)

        let changes: [(inout DaemonSnapshot) -> Void] = [
            { $0.listeners[0].drops[.refused] = 1 }, { $0.listeners[0].listener = "other" },
            { $0.listeners[0].downstreams[0].name = "other" },
            { $0.listeners[0].downstreams[0].weight = 7 },
            { $0.listeners[0].downstreams[0].isReady = false }, { $0.drains = DrainList() },
            { $0.health?.healthStatuses = [Downstream.numbered(0).endpoint: false] },
            { $0.reload.lastSuccessful = true }, { $0.listeners.append(.sample("more")) },
            { $0.active[0].balance = .random }, { $0.refuse() },
        ]
        for (index, change) in changes.enumerated() {
            var changed = first
            change(&changed)
            #expect(try await numbers(changed).0.shape != shape, "change \(index)")
        }
    }

    @Test("their time does not stand still")
    func time() async throws {
        let first = try await numbers(.of([])).0.at
        try await eventuallyLater(than: first)
    }

    private func eventuallyLater(than first: Int) async throws {
        while try await numbers(.of([])).0.at <= first {}
    }

    private static let begin = ContinuousClock.now

    @Test(
        "rates have three digits and a unit",
        arguments: [
            (0.0, "0"), (0.04, "0.0"), (1.25, "1.3"), (9.94, "9.9"), (9.96, "10"), (999.4, "999"),
            (999.6, "1.00\u{202f}k"), (12_345, "12.3\u{202f}k"), (99_960, "100\u{202f}k"),
            (999_499, "999\u{202f}k"), (999_501, "1.00\u{202f}M"), (4_567_000, "4.57\u{202f}M"),
            (2e9, "2.00\u{202f}G"),
        ])
    func rates(value: Double, text: String) async throws {
        var snapshot = StatusPageTests.snapshot()
        snapshot.meter = RateMeter()
        var counters = snapshot.listeners[0]
        for (count, second) in [(0, 0), (UInt64((value * 100).rounded()), 100)] {
            counters.packetsForwarded = count
            snapshot.meter.note([counters], at: Self.begin + .seconds(second))
        }
        let page = try await numbers(snapshot).page
        #expect(page.contains("<span class=\"now\"><span class=\"rate\">\(text)</span>"))
    }
}
