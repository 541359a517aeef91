// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Testing

@testable import udp_fanout

extension DaemonTests {
    @Suite("Cost of the status")
    struct StatusCostTests {}
}

extension DaemonTests.StatusCostTests {
    /// A release build takes a tenth of a debug build's time; its limit is 50 ms.
    @Test(
        "the time for 64 listeners of 1 024 receivers each grows linearly with their number")
    func many() throws {
        var listeners: [Listener] = []
        for number in 0..<64 {
            let downstreams = (0..<1024).map { index in
                Downstream(
                    name: "r\(index)",
                    endpoint: Endpoint(
                        IPAddress(v4: 0x0a00_0000 + UInt32(number * 1024 + index)), port: 514))
            }
            listeners.append(
                Listener(
                    name: "l\(number)",
                    bind: Endpoint(IPAddress(v4: 0), port: UInt16(1000 + number)),
                    mode: .userspace, balance: .roundRobin, downstreams: downstreams))
        }
        let counters = listeners.map { listener in
            var counts = ListenerCounters(listener: listener.name, mode: listener.mode)
            counts.downstreams = listener.downstreams.map(DownstreamCounters.init)
            counts.downstreams[1].packetsForwarded = 7
            return counts
        }
        var meter = RateMeter()
        for second in 0..<2 { meter.note(counters, at: .now + .seconds(second)) }
        var snapshot = DaemonSnapshot(
            listeners: counters,
            reload: ReloadStatus(
                lastSuccessful: true, lastSuccessTimestampSeconds: 0, successes: 1, failures: 0),
            build: BuildInfo(version: "1", kernelModes: true), startTimeSeconds: 0)
        (snapshot.configured, snapshot.active, snapshot.meter) = (listeners, listeners, meter)
        let clock = ContinuousClock()
        var best = Duration.seconds(100)
        var list: [ListenerStatus] = []
        for _ in 0..<3 {
            best = min(best, clock.measure { list = StatusReport(snapshot).listeners })
        }
        #expect(list.count == 64 && list.allSatisfy { $0.receivers.count == 1024 })
        #expect(list[63].receivers[1].packetsForwarded == 7)
        #expect(best < .seconds(2), "\(best)")
    }
}
