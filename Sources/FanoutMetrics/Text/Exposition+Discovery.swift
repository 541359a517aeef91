// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension Exposition {
    /// The samples of a metric of discovery.
    mutating func append(_ metric: MetricCatalog, of report: DiscoveryReport) {
        switch metric {
        case .discoveryEndpoints:
            eachSource(of: report, "state") { $0.endpoints.mapValues { UInt64($0) } }
        case .discoveryRelists: eachSource(of: report, "reason") { $0.status.relists }
        case .discoveryErrors: eachSource(of: report, "code") { $0.status.errors }
        case .discoverySyncAge:
            for source in report.sources {
                page.sample(Self.label(of: source), seconds: source.status.syncAge.seconds)
            }
        case .discoveryUnused:
            for (listener, counts) in report.unused.sorted(by: { $0.key < $1.key }) {
                for reason in DiscoveryReport.Unused.allCases {
                    page.sample(
                        SampleWriter.labels(("listener", listener), ("reason", reason.rawValue)),
                        UInt64(clamping: counts[reason] ?? 0))
                }
            }
        default: break
        }
    }

    private mutating func eachSource(
        of report: DiscoveryReport, _ label: String,
        _ values: (DiscoveryReport.Source) -> [String: UInt64]
    ) {
        for source in report.sources {
            let own = Self.label(of: source)
            for (word, count) in values(source).sorted(by: { $0.key < $1.key }) {
                page.sample(own, and: SampleWriter.labels((label, word)), count)
            }
        }
    }

    private static func label(of source: DiscoveryReport.Source) -> [UInt8] {
        SampleWriter.labels(("source", source.subject.description))
    }
}

extension Duration {
    /// Seconds with their fraction.
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
