// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing

extension DaemonTests {
    @Suite("Receivers that reply")
    struct ReplyTests {
        @Test("are warned about once, and their replies are counted")
        func warned() async throws {
            var sink: Sink? = try Sink(on: .loopback)
            let endpoint = try #require(sink?.endpoint)
            let config = try ConfigText.simple(receivers: [endpoint.port], metrics: true)
            try await DaemonUnderTest.running(config.yaml) { daemon in
                let listener = Endpoint(.loopback, port: config.listeners[0].port)
                let sender = try Traffic(to: listener)
                sender.send([1])
                try await eventually("it arrives") { sink?.datagrams.count == 1 }
                let source = try #require(sink?.datagrams.first?.source)
                sink = nil
                let receiver = try Traffic(to: source, from: endpoint.address, port: endpoint.port)
                let warning =
                    "receivers answer; this listener is one-way: their replies are dropped"
                for round in 1...2 {
                    for _ in 0..<20 { #expect(receiver.send([2])) }
                    let line = try await daemon.logs(warning)
                    #expect(line.level == "warn" && line.fields["listener"] == "in")
                    #expect(line.fields["receivers"] == "r1")
                    let page = try await MetricsPage.scrape(#require(config.metricsPort))
                    #expect(page.count("replies_dropped_total", ["listener": "in"]) == 20 * round)
                    #expect(try daemon.status().listeners[0].repliesDropped == UInt64(20 * round))
                    #expect(try await daemon.command(["status"]).output.contains("replies dropped"))
                }
                #expect(daemon.times(warning) == 1)
                try await daemon.stop()
            }
        }
    }
}
