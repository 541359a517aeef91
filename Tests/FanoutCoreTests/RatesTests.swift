// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Rates", .tags(.unit))
struct RatesTests {
    private let begin = ContinuousClock.now

    private func counters(_ forwarded: UInt64, receiver: UInt64? = nil) -> ListenerCounters {
        var counters = ListenerCounters(listener: "in", mode: .userspace)
        counters.packetsForwarded = forwarded
        if let receiver {
            var one = DownstreamCounters(Downstream(name: "r", endpoint: Self.endpoint))
            one.packetsForwarded = receiver
            counters.downstreams = [one]
        }
        return counters
    }

    private static let endpoint = Endpoint(IPAddress(v4: 1), port: 1)

    @Test("are 0 until there are two looks, then the average over the window")
    func average() {
        var meter = RateMeter(window: .seconds(5))
        meter.note([counters(0)], at: begin)
        #expect(meter.rates(of: "in") == Rates())
        for second in 1...20 {
            // Fifty a second, and a hundred in the last five.
            let count = second <= 15 ? second * 50 : 750 + (second - 15) * 100
            meter.note([counters(UInt64(count))], at: begin + .seconds(second))
        }
        #expect(meter.rates(of: "in").packetsForwarded == 100)
        #expect(meter.span == .seconds(5))
        #expect(meter.rates(of: "other") == Rates())
    }

    @Test("of a counter that began anew are what came since")
    func restart() {
        var meter = RateMeter()
        meter.note([counters(1000)], at: begin)
        meter.note([counters(30)], at: begin + .seconds(2))
        #expect(meter.rates(of: "in").packetsForwarded == 15)
    }

    @Test("of a receiver that has joined since count from nothing")
    func joined() {
        var meter = RateMeter()
        meter.note([counters(0)], at: begin)
        meter.note([counters(8, receiver: 8)], at: begin + .seconds(4))
        #expect(meter.receiverRates(of: "in")[Self.endpoint]?.packetsForwarded == 2)
    }
}
