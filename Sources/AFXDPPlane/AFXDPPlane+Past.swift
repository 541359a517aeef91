// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

extension AFXDPPlane {
    /// What was counted of one listener in rows that are no more: those of workers that have ended and of
    /// receivers that have left.
    struct Past {
        var listener: ListenerCounters
        var receivers = PastCounts<ReceiverSums>()

        init(of name: String) { listener = ListenerCounters(listener: name, mode: .afXDP) }
    }

    /// Takes what a worker counted of receivers that its new table has not; it counts there no more.
    func keepDeparted(
        from former: [String: PreparedTable.Rows], to rows: [String: PreparedTable.Rows]
    ) {
        for (name, known) in former {
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

    /// Ends workers; what they counted lives on.
    func retire(_ workers: [QueueWorker]) {
        for worker in workers {
            end(worker)
            keepDeparted(from: worker.prepared.rows, to: [:])
        }
    }
}
