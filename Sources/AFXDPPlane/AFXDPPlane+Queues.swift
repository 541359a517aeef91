// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
package import FanoutCore
internal import KernelForwarding
internal import LinuxNet
internal import Logging
package import XDPSockets

extension AFXDPPlane {
    package func queueCounters() -> [QueueCounters] {
        served.values.flatMap { interface in
            interface.workers.map { worker in
                var result = QueueCounters(
                    interface: interface.hook.interface.name, queue: worker.queue.queue)
                result.receiveRingEmpty = worker.counts[.receiveRingEmpty]
                result.fillRingFull = worker.counts[.fillRingFull]
                result.framesExhausted = worker.counts[.framesExhausted]
                result.parseErrors = worker.counts[.parseErrors]
                result.kernelSends = worker.counts[.kernelSends]
                result.kernel = worker.statistics.events
                return result
            }
        }
    }

    package func progress() -> [WorkerProgress] {
        served.values.flatMap { $0.workers.map(\.progress) }.sorted { $0.worker < $1.worker }
    }

    /// Ends a worker, and logs where its frames were at the end.
    func end(_ worker: QueueWorker) {
        let census = worker.census()
        logger.log(
            level: census.isExact ? .debug : .error,
            census.isExact ? "frames are accounted for" : "frames are not accounted for",
            metadata: ["queue": "\(worker.queue)", "frames": "\(census)"])
        worker.end()
    }

    /// The places of each worker's frames; for tests of the accounting.
    package func censuses() -> [FrameCensus] {
        served.values.flatMap { $0.workers.map { $0.census() } }
    }
}

extension XDPStatistics {
    fileprivate var events: [QueueCounters.KernelEvent: UInt64] {
        let pairs = QueueCounters.KernelEvent.allCases.map { event in
            let count =
                switch event {
                case .receiveDropped: receiveDropped
                case .receiveRingFull: receiveRingFull
                case .fillRingEmpty: fillRingEmpty
                case .receiveInvalid: receiveInvalid
                case .transmitInvalid: transmitInvalid
                case .transmitRingEmpty: transmitRingEmpty
                }
            return (event, count)
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}

extension AFXDPPlane {
    /// The counters of one listener's removed rows: those of ended workers and of removed receivers.
    struct Past {
        var listener: ListenerCounters
        var receivers = PastCounts<ReceiverSums>()

        init(of name: String) { listener = ListenerCounters(listener: name, mode: .afXDP) }
    }

    /// Collects a worker's counters of receivers that its new table does not have.
    func keepDeparted(
        from previous: [String: PreparedTable.Rows], to rows: [String: PreparedTable.Rows]
    ) {
        for (name, known) in previous {
            let present = rows[name]?.receivers ?? [:]
            for (endpoint, row) in known.receivers where present[endpoint] == nil {
                past[name, default: Past(of: name)].receivers.add(
                    ReceiverSums(row.counters), of: endpoint)
            }
            if rows[name] == nil {
                past[name, default: Past(of: name)].listener.add(known.own.counters)
            }
        }
    }

    /// Ends workers, and keeps their counters.
    func retire(_ workers: [QueueWorker]) {
        for worker in workers {
            end(worker)
            keepDeparted(from: worker.prepared.rows, to: [:])
        }
    }
}
