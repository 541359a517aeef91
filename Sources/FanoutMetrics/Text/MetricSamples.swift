// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The samples of a metric: their labels, and how they are computed from a snapshot.
struct MetricSamples: Sendable {
    let labels: [String]
    let write: @Sendable (inout Exposition) -> Void

    /// One sample without labels; none if the value is nil.
    static func single(_ value: @escaping @Sendable (Exposition) -> Double?) -> MetricSamples {
        MetricSamples(labels: []) { exposition in
            if let value = value(exposition) { exposition.page.sample(value) }
        }
    }

    /// A sample for each word of one label, in the order of the words.
    static func words(
        _ label: String, _ values: @escaping @Sendable (Exposition) -> [String: UInt64]
    ) -> MetricSamples {
        MetricSamples(labels: [label]) { exposition in
            for (word, count) in values(exposition).sorted(by: { $0.key < $1.key }) {
                exposition.page.sample(SampleWriter.labels((label, word)), count)
            }
        }
    }

    // MARK: Listeners

    /// A sample for each listener whose value is not nil.
    static func listener(
        _ value: @escaping @Sendable (ListenerCounters) -> UInt64?
    ) -> MetricSamples {
        MetricSamples(labels: ["listener", "mode"]) { exposition in
            for row in exposition.listeners {
                if let count = value(row.counters) { exposition.page.sample(row.labels, count) }
            }
        }
    }

    /// A sample for each listener and reason, even if it is 0, so that sums are right from the first scrape on.
    static func listenerReasons(
        _ drops: @escaping @Sendable (ListenerCounters) -> [DropReason: UInt64]?
    ) -> MetricSamples {
        let reasons = reasonLabels(of: DropReason.allCases)
        return MetricSamples(labels: ["listener", "mode", "reason"]) { exposition in
            for row in exposition.listeners {
                guard let drops = drops(row.counters) else { continue }
                for (reason, label) in reasons {
                    exposition.page.sample(row.labels, and: label, drops[reason] ?? 0)
                }
            }
        }
    }

    static let readyReceivers = MetricSamples(labels: ["listener"]) { exposition in
        for row in exposition.rowsByName {
            let count = row.counters.downstreams.count(where: \.isReady)
            exposition.page.sample(row.listenerLabel, UInt64(count))
        }
    }

    private static func reasonLabels(of reasons: [DropReason]) -> [(DropReason, [UInt8])] {
        reasons.map { ($0, SampleWriter.labels(("reason", $0.rawValue))) }
    }

    // MARK: Receivers

    static func downstream(
        _ value: @escaping @Sendable (DownstreamCounters) -> UInt64
    ) -> MetricSamples {
        MetricSamples(labels: ["listener", "mode", "downstream"]) { exposition in
            for row in exposition.listeners {
                for downstream in row.downstreams {
                    exposition.page.sample(downstream.labels, value(downstream.counters))
                }
            }
        }
    }

    /// Only reasons that occurred: all reasons of thousands of receivers would be most of the page.
    static let downstreamReasons: MetricSamples = {
        let reasons = reasonLabels(of: DropReason.allCases.filter(\.isDownstreams))
        return MetricSamples(labels: ["listener", "mode", "downstream", "reason"]) { exposition in
            for row in exposition.listeners {
                for downstream in row.downstreams {
                    for (reason, label) in reasons {
                        guard let count = downstream.counters.drops[reason], count > 0 else {
                            continue
                        }
                        exposition.page.sample(downstream.labels, and: label, count)
                    }
                }
            }
        }
    }()

    static let health = MetricSamples(labels: ["listener", "downstream"]) { exposition in
        guard let health = exposition.snapshot.health else { return }
        for row in exposition.rowsByName {
            for downstream in row.counters.downstreams {
                guard let isHealthy = health.healthStatuses[downstream.endpoint] else { continue }
                let label = SampleWriter.labels(("downstream", downstream.name))
                exposition.page.sample(row.listenerLabel, and: label, isHealthy ? 1 : 0)
            }
        }
    }

    static let probes = MetricSamples(labels: ["result"]) { exposition in
        guard let health = exposition.snapshot.health else { return }
        for result in ProbeResult.allCases {
            let label = SampleWriter.labels(("result", result.rawValue))
            exposition.page.sample(label, health.probes[result] ?? 0)
        }
    }

    // MARK: Receive queues

    static func queue(_ value: @escaping @Sendable (QueueCounters) -> UInt64) -> MetricSamples {
        MetricSamples(labels: ["interface", "queue"]) { exposition in
            for queue in exposition.snapshot.queues {
                exposition.page.sample(labels(of: queue), value(queue))
            }
        }
    }

    static let queueEvents = MetricSamples(labels: ["interface", "queue", "event"]) { exposition in
        for queue in exposition.snapshot.queues {
            for event in QueueCounters.KernelEvent.allCases {
                let label = SampleWriter.labels(("event", event.rawValue))
                exposition.page.sample(labels(of: queue), and: label, queue.kernel[event] ?? 0)
            }
        }
    }

    private static func labels(of queue: QueueCounters) -> [UInt8] {
        SampleWriter.labels(("interface", queue.interface), ("queue", "\(queue.queue)"))
    }

    // MARK: Interfaces

    static func attachments(
        _ value: @escaping @Sendable (Attachment) -> UInt64
    ) -> MetricSamples {
        MetricSamples(labels: ["interface", "mode"]) { exposition in
            for attachment in exposition.snapshot.attachments {
                let labels = SampleWriter.labels(
                    ("interface", attachment.interface), ("mode", attachment.mode.rawValue))
                exposition.page.sample(labels, value(attachment))
            }
        }
    }

    // MARK: Discovery

    static func sources(
        _ label: String, _ values: @escaping @Sendable (DiscoveryReport.Source) -> [String: UInt64]
    ) -> MetricSamples {
        MetricSamples(labels: ["source", label]) { exposition in
            for source in exposition.snapshot.discovery?.sources ?? [] {
                let own = self.label(of: source)
                for (word, count) in values(source).sorted(by: { $0.key < $1.key }) {
                    exposition.page.sample(own, and: SampleWriter.labels((label, word)), count)
                }
            }
        }
    }

    static let syncAge = MetricSamples(labels: ["source"]) { exposition in
        for source in exposition.snapshot.discovery?.sources ?? [] {
            exposition.page.sample(label(of: source), seconds: source.status.syncAge / .seconds(1))
        }
    }

    static let unusedReceivers = MetricSamples(labels: ["listener", "reason"]) { exposition in
        let unused = exposition.snapshot.discovery?.unused ?? [:]
        for (listener, counts) in unused.sorted(by: { $0.key < $1.key }) {
            for reason in DiscoveryReport.Unused.allCases {
                exposition.page.sample(
                    SampleWriter.labels(("listener", listener), ("reason", reason.rawValue)),
                    UInt64(clamping: counts[reason] ?? 0))
            }
        }
    }

    private static func label(of source: DiscoveryReport.Source) -> [UInt8] {
        SampleWriter.labels(("source", source.subject.description))
    }

    // MARK: The daemon

    static let build = MetricSamples(labels: ["version", "kernel_modes"]) { exposition in
        let build = exposition.snapshot.build
        exposition.page.sample(
            SampleWriter.labels(
                ("version", build.version), ("kernel_modes", build.kernelModes ? "true" : "false")),
            1)
    }
}
