// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Testing
import Tiers

@Suite("the text of /metrics", .tags(.unit))
struct ExpositionTests {
    @Test("a small snapshot has exactly this page")
    func golden() {
        var counters = ListenerCounters.sample("syslog")
        var receiver = DownstreamCounters(.numbered(1, weight: 5))
        receiver.packetsForwarded = 90
        receiver.bytesForwarded = 5760
        receiver.drops = [.noBuffers: 3]
        receiver.refusals = 4
        counters.downstreams = [receiver]
        #expect(page(.of([counters]), refused: 9) == goldenPage)
    }

    @Test("packets from servers have their own counters, and events their names")
    func answers() {
        let text = page(
            .of([.sample("nat", mode: .xdpNAT)], events: ["egress_not_authorized": 2]))
        let labels = "{listener=\"nat\",mode=\"xdp_nat\"}"
        #expect(value(of: "udp_fanout_answers_received_total\(labels)", in: text) == 50)
        #expect(value(of: "udp_fanout_answers_forwarded_total\(labels)", in: text) == 48)
        #expect(
            value(
                of: "udp_fanout_answers_dropped_total"
                    + "{listener=\"nat\",mode=\"xdp_nat\",reason=\"not_permitted\"}", in: text) == 2
        )
        #expect(
            value(of: "udp_fanout_nat_events_total{event=\"egress_not_authorized\"}", in: text) == 2
        )
    }

    @Test("replies are shown where they come to the daemon")
    func replies() {
        var keeping = ListenerCounters.sample("keeping")
        keeping.repliesDropped = nil
        let text = page(.of([.sample("one"), .sample("tc", mode: .tcEBPF), keeping]))
        let lines = text.split(separator: "\n").filter {
            $0.hasPrefix("udp_fanout_replies_dropped_total")
        }
        #expect(
            lines == [
                "udp_fanout_replies_dropped_total{listener=\"one\",mode=\"userspace\"} 14"
            ])
    }

    @Test("every metric has HELP and TYPE exactly once, and its samples right behind them")
    func everyMetricOnce() {
        var listeners: [ListenerCounters] = [
            .sample("one", downstreams: 3), .sample("two", mode: .tcEBPF, downstreams: 2),
            .sample("three", mode: .xdpNAT, downstreams: 1),
        ]
        listeners[0].downstreams[0].drops[.refused] = 1
        var snapshot = DaemonSnapshot.of(listeners, events: ["ingress_new_nat": 7])
        snapshot.transmitErrors = ["eth0": 3]
        snapshot.attachments = [Attachment(mode: .xdpNAT, interface: "eth0", hook: "native")]
        let lines = page(snapshot).split(separator: "\n")
        for metric in Metric.all {
            let name = metric.name
            let help = lines.filter { $0.hasPrefix("# HELP \(name) ") }
            #expect(help == ["# HELP \(name) \(metric.help)"])
            let type = lines.indices.filter { lines[$0].hasPrefix("# TYPE \(name) ") }
            #expect(type.count == 1)
            let samples = lines.indices.filter {
                lines[$0].hasPrefix("\(name){") || lines[$0].hasPrefix("\(name) ")
            }
            let first = (type.first ?? 0) + 1
            #expect(samples == Array(first..<first + samples.count) && !samples.isEmpty)
        }
    }

    @Test("every sample has the labels of the catalogue, in that order")
    func labelsFollowTheCatalogue() throws {
        let text = page(.of([.sample("one", downstreams: 2)]))
        let byName = Dictionary(
            uniqueKeysWithValues: Metric.all.map { ($0.name, $0.labels) })
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = String(line.prefix { $0 != "{" && $0 != " " })
            let labels = line.contains("{") ? line.split(separator: "{")[1] : ""
            let names = labels.split(separator: ",").map { String($0.prefix { $0 != "=" }) }
            #expect(try #require(byName[name]) == names, "\(line)")
        }
    }

    @Test("a listener has every reason from 0, a receiver only those that have counted")
    func reasons() {
        var counters = ListenerCounters.sample("one", downstreams: 2)
        counters.drops = [:]
        counters.downstreams[0].drops = [.refused: 0]
        counters.downstreams[1].drops = [.refused: 2]
        let text = page(.of([counters]))
        let own = #"udp_fanout_packets_dropped_total{listener="one",mode="userspace",reason="#
        for reason in DropReason.allCases {
            #expect(value(of: own + "\"\(reason.rawValue)\"}", in: text) == 0)
        }
        let lines = text.split(separator: "\n").filter {
            $0.hasPrefix("udp_fanout_downstream_packets_dropped_total{")
        }
        #expect(lines.count == 1 && lines[0].hasSuffix(#"reason="refused"} 2"#), "\(lines)")
    }

    @Test("a downstream that health checks disable is not active")
    func disabled() {
        var counters = ListenerCounters.sample("one")
        var out = Downstream.numbered(2)
        out.isEnabled = false
        counters.downstreams = [DownstreamCounters(.numbered(1)), DownstreamCounters(out)]
        let text = page(.of([counters]))
        #expect(value(of: #"udp_fanout_downstream_active{listener="one"}"#, in: text) == 1)
        let health = "udp_fanout_downstream_health{listener=\"one\",downstream="
        #expect(value(of: health + "\"r1\"}", in: text) == 0)
        #expect(value(of: health + "\"r2\"}", in: text) == 1)
    }

    @Test("without health checks there is no sample of theirs")
    func noHealthChecks() {
        var snapshot = DaemonSnapshot.of([.sample("one", downstreams: 2)])
        (snapshot.health, snapshot.discovery) = (nil, nil)
        let text = page(snapshot)
        #expect(!text.contains("udp_fanout_downstream_health"))
        #expect(!text.contains("udp_fanout_health_probes_total"))
    }

    @Test("received is forwarded plus the sum over every reason, and each reason has its sample")
    func accounting() throws {
        let text = page(.of([.sample("one")]))
        let labels = #"{listener="one",mode="userspace""#
        var dropped: UInt64 = 0
        for reason in DropReason.allCases {
            let series = "udp_fanout_packets_dropped_total\(labels),reason=\"\(reason.rawValue)\"}"
            dropped += try #require(value(of: series, in: text), "\(reason)")
        }
        let received = value(of: "udp_fanout_packets_received_total\(labels)}", in: text)
        let forwarded = value(of: "udp_fanout_packets_forwarded_total\(labels)}", in: text)
        #expect(try #require(received) == #require(forwarded) + dropped)
        #expect(value(of: "udp_fanout_packets_no_healthy_total\(labels)}", in: text) == 7)
    }

    @Test("a downstream is charged only with reasons that lie with downstreams")
    func downstreamReasons() {
        var counters = ListenerCounters.sample("one", downstreams: 1)
        for reason in DropReason.allCases { counters.downstreams[0].drops[reason] = 1 }
        let text = page(.of([counters]))
        let start = "udp_fanout_downstream_packets_dropped_total{"
        let lines = text.split(separator: "\n").filter { $0.hasPrefix(start) }
        #expect(lines.count == DropReason.allCases.count(where: \.isDownstreams))
        #expect(!lines.contains { $0.contains(#"reason="no_healthy""#) })
    }

    @Test("a metric without samples is left out, HELP and TYPE with it")
    func nothingWithoutSamples() {
        var snapshot = DaemonSnapshot.of([])
        (snapshot.health, snapshot.discovery) = (nil, nil)
        snapshot.queues = []
        let text = Exposition.text(of: snapshot, server: ServerCounters(), process: nil)
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let names = Set(lines.filter { $0.hasPrefix("# TYPE") }.map { $0.split(separator: " ")[2] })
        #expect(
            names == [
                "udp_fanout_build_info", "udp_fanout_start_time_seconds",
                "udp_fanout_config_last_reload_successful",
                "udp_fanout_config_last_reload_success_timestamp_seconds",
                "udp_fanout_config_reloads_total", "udp_fanout_metrics_connections_refused_total",
            ])
    }

    @Test("control characters in names become visible; quotes and backslashes are escaped")
    func escaping() {
        let name = "q\" b\\ n\n t\t e\u{1b} d\u{7f} c\u{9b} r\u{202e} t\u{e0001} ü"
        let label =
            #"q\" b\\ n\n t\\x09 e\\x1b d\\x7f c\\x9b r\\u202e t\\U000e0001 ü"#
        let text = page(.of([.sample(name)]))
        #expect(value(of: "udp_fanout_downstream_active{listener=\"\(label)\"}", in: text) == 0)
        #expect(
            text.unicodeScalars.allSatisfy {
                $0 == "\n" || $0.properties.generalCategory != .control
            })
    }

    @Test("a carriage return and a newline that Swift holds to be one character are two")
    func carriageReturnAndNewline() {
        let text = page(.of([.sample("a\r\nb")]))
        #expect(text.contains(#"{listener="a\\x0d\nb"}"#))
    }

    @Test("a listener between two modes shows once where no mode is told")
    func betweenTwoModes() {
        let text = page(
            .of([.sample("one", downstreams: 3), .sample("one", mode: .tcEBPF, downstreams: 1)]))
        // Weights are 0, 1 and 2.
        #expect(value(of: #"udp_fanout_downstream_active{listener="one"}"#, in: text) == 2)
    }

    @Test("200 listeners with 5 downstreams each get every sample")
    func large() {
        let lines = page(.large).split(separator: "\n")
        let perDownstream = 5
        let perListener = 11 + DropReason.allCases.count + 5 * perDownstream
        // Build, start, two results of reloads, two of the last one, refused, six of the process, and
        // eight of discovery.
        let queue = 5 + QueueCounters.KernelEvent.allCases.count
        let others = 21 + ProbeResult.allCases.count + queue
        #expect(lines.count { !$0.hasPrefix("#") } == 200 * perListener + others)
    }
}
