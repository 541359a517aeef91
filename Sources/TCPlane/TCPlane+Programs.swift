// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
public import FanoutCore
internal import KernelForwarding
internal import Logging

extension TCPlane {
    /// Leads the maps of the program in force to another layout.
    func update(_ serving: Serving, to layout: Layout) throws(BPFError) {
        let previous = serving.layout
        let prepared = try serving.program.prepare(layout, from: previous)
        // Every map has room for what is put in now, so from here on nothing fails.
        try serving.program.adopt(layout, from: previous, prepared) {
            logger.debug("packets meet the new tables", metadata: ["mode": "tc_ebpf"])
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

    /// Loads another program, fills its maps and puts it in the place of the one before.
    ///
    /// - Parameter wanted: every hook that is to have it; the others are left.
    func renew(to layout: Layout, at wanted: [WantedHook]) throws(BPFError) {
        let places = try open(wanted)
        let program: TCProgram
        do throws(BPFError) {
            let fates =
                serving?.program.fates ?? places.lazy.compactMap { $0.hook.leftFates }.first
            program = try TCProgram(source, capacity: layout.capacity, fates: fates)
            let nothing = Layout(capacity: layout.capacity)
            try program.adopt(layout, from: nothing, program.prepare(layout, from: nothing))
        } catch {
            for place in places { place.hook.leaveIfIdle() }
            throw error
        }
        try put(program, at: places)

        leave(allBut: wanted)
        keepCounts()
        serving = Serving(program: program, layout: layout)
    }

    /// The hooks, of which nothing is altered yet.
    private func open(_ wanted: [WantedHook]) throws(BPFError) -> [HookPlace] {
        var places: [HookPlace] = []
        do throws(BPFError) {
            for want in wanted {
                let known = hooks[want.interface.index]
                let hook =
                    if let known { known } else { try InterfaceHook(want.interface, root: root) }
                places.append(HookPlace(hook, want.attach))
            }
        } catch {
            for place in places { place.hook.leaveIfIdle() }
            throw error
        }
        return places
    }

    /// At all of the hooks or, when one of them fails, at none that was not ours: what another process put there
    /// stays. Those first where no program is yet, which is what fails.
    private func put(_ program: TCProgram, at places: [HookPlace]) throws(BPFError) {
        var tried: [HookPlace] = []
        do throws(BPFError) {
            for place in places.filter({ !$0.wasOccupied }) + places.filter(\.wasOccupied) {
                tried.append(place)
                try place.hook.put(program, by: place.attach)
            }
        } catch {
            for place in tried {
                if let before = place.before, let serving {
                    try? place.hook.put(serving.program, by: before)
                } else if !place.wasOccupied {
                    place.hook.remove()
                }
            }
            for place in places { place.hook.leaveIfIdle() }
            throw error
        }
        for place in places {
            hooks[place.hook.interface.index] = place.hook
            if place.hook.kind != place.before { logAttached(place.hook) }
        }
    }

    /// A hook as it was before a program is put there.
    private struct HookPlace {
        let hook: InterfaceHook
        let attach: TCAttach
        let before: TCAttach?
        /// By a program of ours, this process's or a former one's.
        let wasOccupied: Bool

        init(_ hook: InterfaceHook, _ attach: TCAttach) {
            (self.hook, self.attach) = (hook, attach)
            (before, wasOccupied) = (hook.kind, hook.isOccupied)
        }
    }

    func logAttached(_ hook: InterfaceHook) {
        logger.info(
            "attached TC eBPF program to ingress",
            metadata: [
                "interface": "\(hook.interface.name)", "ifindex": "\(hook.interface.index)",
                "attach": "\((hook.kind ?? .auto).rawValue)",
                "replaced": "\(hook.isAdopted)",
            ])
    }

    // MARK: Counts

    /// Waits until no packet is on its way through the program.
    func settle() {
        guard let serving else { return }
        do throws(BPFError) {
            try serving.program.settle(serving.layout)
        } catch {
            logger.warning("counts may lack the last packets", metadata: ["error": "\(error)"])
        }
    }

    /// Takes what the program in force has counted; its hooks have another one by now.
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

    public func counters() -> [ListenerCounters] {
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
