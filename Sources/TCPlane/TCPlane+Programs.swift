// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
package import FanoutCore
internal import KernelForwarding
internal import Logging

extension TCPlane {
    /// Changes the maps of the active program to another layout.
    func update(_ serving: Serving, to layout: Layout) throws(BPFError) {
        let previous = serving.layout
        let prepared = try serving.program.prepare(layout, from: previous)
        // Every map has enough room, so nothing fails from here on.
        try serving.program.adopt(layout, from: previous, prepared) {
            logger.debug("packets use the new tables", metadata: ["mode": "tc_ebpf"])
        }
        let left = layout.rowsLeft(by: previous)
        for (listener, endpoint, row) in left {
            try keep(serving.program.receiverRow(row), of: listener, endpoint)
        }
        try serving.program.clearReceiverRows(left.map(\.row))
        for number in layout.numbersLeft(by: previous) {
            try serving.program.clearListenerRow(number)
        }
        var layout = layout
        layout.reclaim(from: previous)
        self.serving = Serving(program: serving.program, layout: layout)
    }

    /// Loads another program, fills its maps and replaces the previous one with it.
    ///
    /// - Parameter wanted: every hook to attach it to; other hooks are closed.
    func renew(to layout: Layout, at wanted: [WantedHook]) throws(BPFError) {
        let opened = try hooks.open(wanted)
        let program: TCProgram
        do throws(BPFError) {
            let maps = serving?.program.program.maps ?? opened.lazy.compactMap(\.left).first
            program = try TCProgram(source, capacity: layout.capacity, maps: maps)
            let nothing = Layout(capacity: layout.capacity)
            try program.adopt(layout, from: nothing, program.prepare(layout, from: nothing))
        } catch {
            hooks.close(opened)
            throw error
        }
        try hooks.replace(with: program.program, at: opened, wanted)
        hooks.leave(allBut: wanted)
        keepCounts()
        serving = Serving(program: program, layout: layout)
    }

    // MARK: Counters

    /// Waits until no packet is in the program.
    func settle() {
        guard let serving else { return }
        do throws(BPFError) {
            try serving.program.settle(serving.layout)
        } catch {
            logger.warning("counts may lack the last packets", metadata: ["error": "\(error)"])
        }
    }

    /// Collects the counters of the active program; its hooks have another one already.
    private func keepCounts() {
        guard let serving else { return }
        settle()
        do throws(BPFError) {
            for (listener, place) in serving.layout.places {
                let row = try serving.program.listenerRow(place.number)
                past[listener, default: Tally()].listener.add(row)
                for (endpoint, row) in place.rows {
                    try keep(serving.program.receiverRow(row), of: listener, endpoint)
                }
            }
        } catch {
            logger.warning("counts are lost", metadata: ["error": "\(error)"])
        }
    }

    private func keep(_ row: [UInt64], of listener: String, _ endpoint: Endpoint) {
        past[listener, default: Tally()].receivers.add(Counts(row), of: endpoint)
    }

    package func counters() -> [ListenerCounters] {
        guard let serving else { return [] }
        return listeners.compactMap { listener in
            guard let place = serving.layout.places[listener.name] else { return nil }
            let before = past[listener.name] ?? Tally()
            var counts = before.listener
            counts.add((try? serving.program.listenerRow(place.number)) ?? [])
            var result = ListenerCounters(listener, counts)
            result.departed = ReceiverSums(before.receivers.departed)
            result.downstreams = listener.downstreams.map { downstream in
                var counts = before.receivers[downstream.endpoint] ?? Counts()
                if let row = place.rows[downstream.endpoint] {
                    counts.add((try? serving.program.receiverRow(row)) ?? [])
                }
                return DownstreamCounters(downstream, counts)
            }
            return result
        }
    }
}
