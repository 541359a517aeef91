// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// The response of `/metrics`: Prometheus text format 0.0.4, the samples of each metric in one block under its HELP
/// and TYPE.
public struct Exposition {
    /// The value of the header Content-Type.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Renders a snapshot. O(bytes of the page): labels are escaped once per listener and receiver, not once per
    /// sample.
    ///
    /// - Parameter process: nil if /proc cannot be read; its metrics are then left out.
    public static func text(
        of snapshot: DaemonSnapshot, server: ServerCounters, process: ProcessSample?
    ) -> [UInt8] {
        var exposition = Exposition(
            snapshot: snapshot, server: server, process: process,
            listeners: snapshot.listeners.map(Row.init))
        for metric in Metric.all {
            exposition.page.begin(metric)
            metric.samples.write(&exposition)
            exposition.page.end()
        }
        return exposition.page.bytes
    }

    let snapshot: DaemonSnapshot
    let server: ServerCounters
    let process: ProcessSample?
    let listeners: [Row]
    var page = SampleWriter()

    /// A listener with its labels and its receivers' labels, as they appear in samples.
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

    /// The rows of metrics without the label `mode`: a listener between two modes would appear twice, so only the
    /// first is used.
    var rowsByName: [Row] {
        var seen: Set<String> = []
        return listeners.filter { seen.insert($0.counters.listener).inserted }
    }
}
