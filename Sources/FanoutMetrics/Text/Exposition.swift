// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The page that `/metrics` answers with: Prometheus' text format 0.0.4, every metric's samples in one
/// block under its HELP and TYPE.
public struct Exposition {
    /// The value of the header Content-Type.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Renders a snapshot. O(bytes of the page): labels are escaped once per listener and downstream,
    /// not once per sample.
    ///
    /// - Parameter process: nil when /proc cannot be read; its metrics are then left out.
    public static func text(
        of snapshot: MetricsSnapshot, server: ServerCounters, process: ProcessSample?
    ) -> [UInt8] {
        var exposition = Exposition(snapshot: snapshot, server: server, process: process)
        for metric in MetricCatalog.allCases {
            exposition.page.begin(metric)
            exposition.appendSamples(of: metric)
            exposition.page.end()
        }
        return exposition.page.bytes
    }

    let snapshot: MetricsSnapshot
    private let server: ServerCounters
    private let process: ProcessSample?
    let listeners: [Row]
    var page = SampleWriter()

    /// A listener with its labels and its downstreams' labels, ready to be copied into samples.
    struct Row {
        let counters: ListenerCounters
        let listenerLabel: [UInt8]
        let labels: [UInt8]
        let downstreams: [(counters: DownstreamCounters, labels: [UInt8])]

        init(_ counters: ListenerCounters) {
            self.counters = counters
            let (listener, mode) = (counters.listener, counters.mode.rawValue)
            listenerLabel = SampleWriter.labels(("listener", listener))
            labels = SampleWriter.labels(("listener", listener), ("mode", mode))
            downstreams = counters.downstreams.map {
                let own = ("downstream", $0.name)
                return ($0, SampleWriter.labels(("listener", listener), ("mode", mode), own))
            }
        }
    }

    private init(snapshot: MetricsSnapshot, server: ServerCounters, process: ProcessSample?) {
        self.snapshot = snapshot
        self.server = server
        self.process = process
        listeners = snapshot.listeners.map(Row.init)
    }

    private mutating func appendSamples(of metric: MetricCatalog) {
        switch metric {
        case .packetsReceived: eachListener(\.packetsReceived)
        case .packetsForwarded: eachListener(\.packetsForwarded)
        case .packetsDropped: eachListenerReason()
        case .packetsNoHealthy: eachListener { $0.drops[.noHealthy] ?? 0 }
        case .bytesReceived: eachListener(\.bytesReceived)
        case .bytesForwarded: eachListener(\.bytesForwarded)
        case .kernelDrops: eachListener(\.kernelDrops)
        case .repliesDropped: replies()
        case .receiveCalls: eachListener(\.receiveCalls)
        case .sendCalls: eachListener(\.sendCalls)
        case .workers: eachListener { UInt64(clamping: $0.workers) }
        case .afxdpReceiveRingEmpty: eachQueue(\.receiveRingEmpty)
        case .afxdpFillRingFull: eachQueue(\.fillRingFull)
        case .afxdpFramesExhausted: eachQueue(\.framesExhausted)
        case .afxdpParseErrors: eachQueue(\.parseErrors)
        case .afxdpKernelSends: eachQueue(\.kernelSends)
        case .afxdpKernelEvents: eachQueueEvent()
        case .answersReceived: eachAnswer(\.packetsReceived)
        case .answersForwarded: eachAnswer(\.packetsForwarded)
        case .answersDropped: eachAnswerReason()
        case .answerBytesReceived: eachAnswer(\.bytesReceived)
        case .answerBytesForwarded: eachAnswer(\.bytesForwarded)
        case .natEvents: natEvents()
        case .xdpTransmitErrors: transmitErrors()
        case .downstreamPacketsForwarded: eachDownstream(\.packetsForwarded)
        case .downstreamBytesForwarded: eachDownstream(\.bytesForwarded)
        case .downstreamPacketsDropped: eachDownstreamReason()
        case .downstreamRefused: eachDownstream(\.refusals)
        case .downstreamWeight: eachDownstream { UInt64($0.weight) }
        case .downstreamActive: active()
        case .downstreamHealth: health()
        case .healthProbes: probes()
        case .discoveryEndpoints, .discoverySyncAge, .discoveryRelists, .discoveryErrors,
            .discoveryUnused:
            if let discovery = snapshot.discovery { append(metric, of: discovery) }
        case .buildInfo: build()
        case .startTime: page.sample(snapshot.startTimeSeconds)
        case .reloadSuccessful: page.sample(UInt64(snapshot.reload.lastSuccessful ? 1 : 0))
        case .reloadSuccessTime: page.sample(snapshot.reload.lastSuccessTimestampSeconds)
        case .reloads: reloads()
        case .connectionsRefused: page.sample(server.connectionsRefused)
        case .processResidentMemory: if let process { page.sample(process.residentBytes) }
        case .processOpenFDs: if let process { page.sample(process.openFDs) }
        case .processCPU: if let process { page.sample(process.cpuSeconds) }
        }
    }
}

// MARK: - Samples

extension Exposition {
    private mutating func eachListener(_ value: (ListenerCounters) -> UInt64) {
        for row in listeners { page.sample(row.labels, value(row.counters)) }
    }

    private mutating func replies() {
        for row in listeners {
            if let count = row.counters.repliesDropped { page.sample(row.labels, count) }
        }
    }

    /// Every reason always has its sample, so that the ledger can be summed from the first scrape on.
    private mutating func eachListenerReason() {
        let reasons = Self.reasonLabels { _ in true }
        for row in listeners {
            for (reason, label) in reasons {
                page.sample(row.labels, and: label, row.counters.drops[reason] ?? 0)
            }
        }
    }

    private static func labels(of queue: QueueCounters) -> [UInt8] {
        SampleWriter.labels(("interface", queue.interface), ("queue", "\(queue.queue)"))
    }

    private mutating func eachQueue(_ value: (QueueCounters) -> UInt64) {
        for queue in snapshot.queues { page.sample(Self.labels(of: queue), value(queue)) }
    }

    private mutating func eachQueueEvent() {
        for queue in snapshot.queues {
            for event in QueueCounters.KernelEvent.allCases {
                let label = SampleWriter.labels(("event", event.rawValue))
                page.sample(Self.labels(of: queue), and: label, queue.kernel[event] ?? 0)
            }
        }
    }

    private mutating func eachDownstream(_ value: (DownstreamCounters) -> UInt64) {
        for row in listeners {
            for downstream in row.downstreams {
                page.sample(downstream.labels, value(downstream.counters))
            }
        }
    }

    private mutating func eachDownstreamReason() {
        let reasons = Self.reasonLabels(where: \.isDownstreams)
        for row in listeners {
            for downstream in row.downstreams {
                for (reason, label) in reasons {
                    let count = downstream.counters.drops[reason] ?? 0
                    page.sample(downstream.labels, and: label, count)
                }
            }
        }
    }

    static func reasonLabels(
        where isWanted: (DropReason) -> Bool
    ) -> [(DropReason, [UInt8])] {
        DropReason.allCases.filter(isWanted).map {
            ($0, SampleWriter.labels(("reason", $0.rawValue)))
        }
    }

    /// The rows of metrics that bear no mode, where a listener between two modes would show twice: the
    /// first counts.
    private var rowsByName: [Row] {
        var seen: Set<String> = []
        return listeners.filter { seen.insert($0.counters.listener).inserted }
    }

    private mutating func active() {
        for row in rowsByName {
            let count = row.counters.downstreams.count(where: \.isReady)
            page.sample(row.listenerLabel, UInt64(count))
        }
    }

    private mutating func health() {
        guard let health = snapshot.health else { return }
        for row in rowsByName {
            for downstream in row.counters.downstreams {
                guard let isHealthy = health.verdicts[downstream.endpoint] else { continue }
                let label = SampleWriter.labels(("downstream", downstream.name))
                page.sample(row.listenerLabel, and: label, UInt64(isHealthy ? 1 : 0))
            }
        }
    }

    private mutating func probes() {
        guard let health = snapshot.health else { return }
        for result in ProbeResult.allCases {
            let label = SampleWriter.labels(("result", result.rawValue))
            page.sample(label, health.probes[result] ?? 0)
        }
    }

    private mutating func build() {
        let kernelModes = snapshot.build.kernelModes ? "true" : "false"
        let version = ("version", snapshot.build.version)
        page.sample(SampleWriter.labels(version, ("kernel_modes", kernelModes)), 1)
    }

    private mutating func reloads() {
        page.sample(SampleWriter.labels(("result", "success")), snapshot.reload.successes)
        page.sample(SampleWriter.labels(("result", "failure")), snapshot.reload.failures)
    }
}
