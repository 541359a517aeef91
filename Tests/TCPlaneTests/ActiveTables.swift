// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

/// The slot tables of a listener over time, each with the period in which it may have been active: from the call that
/// set it until the call that set the next one returned.
struct ActiveTables {
    private struct Reign {
        let receivers: [Endpoint]
        let table: SlotTable
        let from: ContinuousClock.Instant
        var until: ContinuousClock.Instant?

        init(_ listener: Listener, from: ContinuousClock.Instant) {
            receivers = listener.downstreams.map(\.endpoint)
            table = listener.slotTable
            self.from = from
        }

        func owner(of source: IPAddress) -> Endpoint? {
            table.owner(of: FlowKey.sourceIP(source)).map { receivers[$0] }
        }
    }

    private var reigns: [Reign]

    init(_ listener: Listener) { reigns = [Reign(listener, from: .now)] }

    /// Records a table that was set by a call from `begun` until now.
    mutating func follow(_ listener: Listener, begun: ContinuousClock.Instant) {
        reigns[reigns.count - 1].until = .now
        reigns.append(Reign(listener, from: begun))
    }

    var count: Int { reigns.count }

    /// The result of a load with the balance source_ip.
    struct HealthStatus {
        /// Arrivals at a receiver that did not own the source while the datagram was on its way.
        var misdirected = 0
        /// Arrivals with only one possible receiver.
        var decided = 0
        /// Sources with more than one owner over time.
        var moved = 0
        var examples: [String] = []
    }

    /// Compares each arrival with the tables that may have been active between its sending and its reading.
    ///
    /// - Parameter sources: the sources of the load, in its order, one flow each.
    func judge(_ report: LoadReport, of sources: [IPAddress], at sinks: [Sink]) -> HealthStatus {
        var verdict = HealthStatus()
        let flows = report.sent.keys.sorted()
        let numbers = Dictionary(uniqueKeysWithValues: zip(flows, flows.indices))
        let owners = sources.map { source in reigns.map { $0.owner(of: source) } }
        verdict.moved = owners.count { Set($0.compactMap { $0 }).count > 1 }
        for sink in sinks {
            for arrival in sink.log {
                guard let number = numbers[arrival.stamp.flow],
                    let sent = report.sendingTime(of: arrival.stamp)
                else { continue }
                let allowed = Set(
                    reigns(between: sent, and: arrival.read).compactMap { owners[number][$0] })
                if allowed.count == 1 { verdict.decided += 1 }
                guard !allowed.contains(sink.endpoint) else { continue }
                verdict.misdirected += 1
                if verdict.examples.count < 5 {
                    verdict.examples.append(
                        "\(sources[number]) at \(sink.endpoint), not \(allowed), on its way for "
                            + "\(arrival.read - sent)")
                }
            }
        }
        return verdict
    }

    private func reigns(
        between sent: ContinuousClock.Instant, and read: ContinuousClock.Instant
    ) -> Range<Int> {
        var (low, high) = (0, reigns.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if let until = reigns[middle].until, until < sent {
                low = middle + 1
            } else {
                high = middle
            }
        }
        var end = low
        while end < reigns.count, reigns[end].from <= read { end += 1 }
        return low..<max(end, low)
    }
}

extension LoadReport {
    /// When the datagram was given to the kernel, or slightly before; nil unless times were kept.
    fileprivate func sendingTime(of stamp: Stamp) -> ContinuousClock.Instant? {
        guard let bursts = bursts[stamp.flow], !bursts.isEmpty else { return nil }
        var (low, high) = (0, bursts.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if bursts[middle].sequence <= stamp.sequence { low = middle } else { high = middle - 1 }
        }
        return bursts[low].sent
    }
}
