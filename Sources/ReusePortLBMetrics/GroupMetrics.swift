// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics
public import ReusePortLB
internal import Synchronization

/// Reports groups to the program's metrics backend (swift-metrics), under the names and labels of
/// ``ReusePortGroup/samples()``.
///
/// ```swift
/// let metrics = GroupMetrics()
/// while !Task.isCancelled {
///     try metrics.record(group)
///     try await Task.sleep(for: .seconds(15))
/// }
/// ```
public final class GroupMetrics: Sendable {
    /// A metric's name and labels.
    private struct Key: Hashable {
        let name: String
        let labels: [ReusePortGroup.Label]
    }

    /// A counter of the backend, which only adds, and the value that it has.
    private struct Reported {
        let counter: Counter
        var value: UInt64
    }

    private let counters = Mutex<[Key: Reported]>([:])
    private let gauges = Mutex<[Key: Gauge]>([:])
    private let factory: any MetricsFactory

    /// - Parameter factory: the backend; by default the program's.
    public init(factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

    /// Reads the group's metrics and reports them. Counters start with what the group has counted so far; a counter that
    /// has become smaller, because the group or a socket is new, starts again.
    public func record(_ group: borrowing ReusePortGroup) throws(ReusePortError) {
        for sample in try group.samples() {
            let key = Key(name: sample.name, labels: sample.labels)
            if sample.isCounter {
                count(key, sample.value)
            } else {
                gauges.withLock { gauges in
                    let gauge =
                        gauges[key]
                        ?? Gauge(
                            label: key.name, dimensions: Self.dimensions(key), factory: factory)
                    gauge.record(sample.value)
                    gauges[key] = gauge
                }
            }
        }
    }

    private func count(_ key: Key, _ value: UInt64) {
        counters.withLock { counters in
            var reported =
                counters[key]
                ?? Reported(
                    counter: Counter(
                        label: key.name, dimensions: Self.dimensions(key), factory: factory),
                    value: 0)
            let more = value >= reported.value ? value - reported.value : value
            if more > 0 { reported.counter.increment(by: Int64(clamping: more)) }
            reported.value = value
            counters[key] = reported
        }
    }

    private static func dimensions(_ key: Key) -> [(String, String)] {
        key.labels.map { ($0.name, $0.value) }
    }
}
