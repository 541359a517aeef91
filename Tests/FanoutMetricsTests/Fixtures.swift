// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics

/// A name with everything in it that a text format could trip over.
let nastyName = "a\"b\\c\nd\re\u{1b}[31m\u{7f}\u{9b}\u{202e}{x=\"1\"} 5 # HELP\u{0}\u{e0001}ünï"

extension Downstream {
    static func numbered(_ number: Int, weight: UInt16 = 1) -> Downstream {
        let address = IPAddress(v4: 0x7f00_0001)
        return Downstream(
            name: "r\(number)", endpoint: Endpoint(address, port: UInt16(1000 + number)),
            weight: weight)
    }
}

extension ListenerCounters {
    /// 100 received, 90 forwarded, 7 dropped for want of a downstream, 3 for want of buffer space.
    static func sample(
        _ name: String, mode: ForwardingMode = .userspace, downstreams: Int = 0
    ) -> ListenerCounters {
        var counters = ListenerCounters(listener: name, mode: mode)
        counters.packetsReceived = 100
        counters.bytesReceived = 6400
        counters.packetsForwarded = 90
        counters.bytesForwarded = 5760
        counters.drops = [.noHealthy: 7, .noBuffers: 3]
        counters.kernelDrops = 11
        if mode == .userspace { counters.repliesDropped = 14 }
        counters.receiveCalls = 12
        counters.sendCalls = 13
        counters.workers = 2
        counters.downstreams = (0..<downstreams).map {
            DownstreamCounters(.numbered($0, weight: UInt16($0)))
        }
        guard mode == .xdpNAT else { return counters }
        var replies = ReplyCounters()
        replies.packetsReceived = 50
        replies.packetsForwarded = 48
        replies.drops = [.notPermitted: 2]
        counters.replies = replies
        return counters
    }
}

extension QueueCounters {
    static let sample: QueueCounters = {
        var counters = QueueCounters(interface: "eth0", queue: 3)
        counters.receiveRingEmpty = 21
        counters.fillRingFull = 22
        counters.framesExhausted = 23
        counters.parseErrors = 24
        counters.kernelSends = 27
        counters.kernel = [.receiveDropped: 25, .receiveRingFull: 26]
        return counters
    }()
}

extension DaemonSnapshot {
    static func of(
        _ listeners: [ListenerCounters], events: [String: UInt64] = [:]
    ) -> DaemonSnapshot {
        DaemonSnapshot(
            listeners: listeners, queues: [.sample], events: events,
            health: HealthReport(
                healthStatuses: Dictionary(
                    uniqueKeysWithValues: (0..<10).map {
                        (Downstream.numbered($0).endpoint, $0 % 2 == 0)
                    }), probes: [.success: 5, .refused: 3]),
            discovery: DiscoveryReport(
                sources: [
                    DiscoveryReport.Source(
                        subject: .endpointSlices(.init(namespace: "n", service: "s")),
                        status: SourceStatus(
                            syncAge: .milliseconds(1500), relists: ["start": 1],
                            errors: ["401": 2]),
                        endpoints: ["ready": 3])
                ], unused: ["syslog": [.surplus: 4]]),
            reload: ReloadStatus(
                lastSuccessful: false, lastSuccessTimestampSeconds: 1_700_000_000.25,
                successes: 3, failures: 1),
            build: BuildInfo(version: "1.2.3", kernelModes: true), startTimeSeconds: 1_600_000_000)
    }

    /// A page of more than a megabyte: more than the sockets between server and client take.
    static let large = of((0..<200).map { .sample("listener-\($0)", downstreams: 5) })
}

extension ProcessSample {
    static let sample = ProcessSample(
        residentBytes: 4096, virtualBytes: 8192, openFDs: 5, maxFDs: 1024,
        startTimeSeconds: 1_700_000_000.25, cpuSeconds: 1.5)
}

/// The page of a snapshot as text.
func page(_ snapshot: DaemonSnapshot, refused: UInt64 = 0) -> String {
    let server = ServerCounters(connectionsRefused: refused)
    let text = Exposition.text(of: snapshot, server: server, process: .sample)
    return String(decoding: text, as: UTF8.self)
}

/// The value of the one sample that starts with `series`; nil unless there is exactly one.
func value(of series: String, in page: String) -> UInt64? {
    let lines = page.split(separator: "\n").filter { $0.hasPrefix(series + " ") }
    guard lines.count == 1 else { return nil }
    return UInt64(lines[0].dropFirst(series.count + 1))
}
