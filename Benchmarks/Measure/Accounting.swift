// SPDX-License-Identifier: Apache-2.0

/// The daemon's counters of a listener, from its metrics.
public struct Accounting: Equatable, Sendable {
    /// Datagrams taken from the socket.
    public let received: Int
    /// Datagrams handed to the kernel for a receiver.
    public let forwarded: Int
    /// The others, over all reasons.
    public let dropped: Int
    /// Datagrams that the kernel dropped before the daemon saw them.
    public let kernelDrops: Int

    /// - Parameters: as the properties.
    public init(received: Int, forwarded: Int, dropped: Int, kernelDrops: Int) {
        self.received = received
        self.forwarded = forwarded
        self.dropped = dropped
        self.kernelDrops = kernelDrops
    }

    /// Sums the series of one listener in a scrape in the Prometheus text format.
    ///
    /// - Throws: ``MissingMetric`` when one of the four metrics has no series.
    public init(scrape: String, listener: String) throws(MissingMetric) {
        func sum(_ name: String) throws(MissingMetric) -> Int {
            var total: Int?
            for line in scrape.split(whereSeparator: \.isNewline) {
                guard line.hasPrefix("\(name){"), line.contains("listener=\"\(listener)\""),
                    let value = line.split(separator: " ").last.flatMap({ Double($0) })
                else { continue }
                total = (total ?? 0) + Int(value)
            }
            guard let total else { throw MissingMetric(name: name, listener: listener) }
            return total
        }
        received = try sum("udp_fanout_packets_received_total")
        forwarded = try sum("udp_fanout_packets_forwarded_total")
        dropped = try sum("udp_fanout_packets_dropped_total")
        kernelDrops = try sum("udp_fanout_kernel_drops_total")
    }

    /// The counts since an earlier scrape.
    public static func - (now: Accounting, before: Accounting) -> Accounting {
        Accounting(
            received: now.received - before.received, forwarded: now.forwarded - before.forwarded,
            dropped: now.dropped - before.dropped,
            kernelDrops: now.kernelDrops - before.kernelDrops)
    }

    /// Where the counters do not add up, or do not match the sinks.
    public func doubts(against sample: Sample) -> [String] {
        var doubts: [String] = []
        if received != forwarded + dropped {
            doubts.append("received \(received) is not forwarded \(forwarded) + dropped \(dropped)")
        }
        // The kernel may rarely drop datagrams between a send and a sink, but never adds any.
        let least = forwarded - forwarded / 1000
        if !(least...max(least, forwarded)).contains(sample.arrivedInAll) {
            doubts.append("forwarded \(forwarded), but \(sample.arrivedInAll) arrived")
        }
        if received > sample.sentInAll {
            doubts.append("received \(received) of \(sample.sentInAll) sent")
        }
        return doubts
    }
}

/// A metric that is missing in the scrape.
public struct MissingMetric: Error, CustomStringConvertible, Equatable {
    /// The name of the metric.
    public let name: String
    /// The listener whose series was looked for.
    public let listener: String

    /// The metric and the listener.
    public var description: String { "no \(name) of the listener \(listener) in the metrics" }
}
