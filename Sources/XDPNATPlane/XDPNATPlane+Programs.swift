// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore
internal import Glibc
internal import KernelForwarding
internal import Logging

extension XDPNATPlane {
    /// Changes the maps of the active program to other listeners.
    ///
    /// - Returns: false when that needs another program; then nothing is changed.
    func update(to next: [Listener], on network: NetworkView) throws(BPFError) -> Bool {
        guard let serving else { return false }
        let previous = serving.layout
        guard previous.capacity.covers(capacity(for: next, on: network)),
            var layout = previous.next(for: next, on: network, previous.capacity),
            hooks.satisfy(WantedHook.all(of: next, on: network)),
            let prepared = try serving.program.prepare(layout, from: previous, isNew: false)
        else { return false }
        try passLinks(of: network, to: serving.program)
        let entering: NATProgram.Entering
        do throws(BPFError) {
            // Every map has enough room, so little can fail; clients may have used it meanwhile.
            entering = try serving.program.enter(layout, from: previous, prepared)
        } catch {
            self.serving?.layout.burn(layout)
            self.serving?.layout.forgetTables()
            throw error
        }
        logActive()
        layout.rememberLeft(from: previous, for: lateReplies)
        let left = serving.program.leave(previous, for: layout, prepared, after: entering)
        let wanted = WantedHook.all(of: next, on: network, left: layout.left.interfaces)
        hooks.leave(allBut: wanted)
        keepDeparted(from: previous, to: layout, serving.program)
        layout.reclaim(from: previous)
        let hooked = know(wanted, serving)
        self.serving = Serving(
            program: serving.program, layout: layout, endpoints: left.endpoints, hooked: hooked)
        if let failure = left.failure { warnKept(failure) }
        return true
    }

    /// Tells the active program the changed addresses of interfaces.
    ///
    /// - Returns: the link bits that it has then.
    private func know(_ wanted: [WantedHook], _ serving: Serving) -> HookTable {
        do throws(BPFError) {
            let hooked = try HookTable(wanted.map(\.interface))
            if hooked != serving.hooked { try serving.program.know(hooked) }
            return hooked
        } catch {
            logger.error(
                "the link-layer addresses of interfaces are not updated",
                metadata: ["error": "\(error)"])
            return serving.hooked
        }
    }

    /// Loads a new program, which takes over the state of the previous one and replaces it.
    func renew(to next: [Listener], on network: NetworkView) throws(BPFError) {
        var capacity = capacity(for: next, on: network).joined(with: serving?.layout.capacity)
        let previous: NATLayout
        let heritage: NATProgram.Heritage
        var opened: [PinnedHook] = []
        if let serving {
            previous = serving.layout
            heritage = .own(serving.program)
        } else {
            opened = try hooks.open(WantedHook.all(of: next, on: network))
            if let left = opened.lazy.compactMap(\.left).first {
                previous = NATLayout(capacity: capacity, ids: try IDAllocator(of: left))
                heritage = .left(left)
            } else {
                previous = NATLayout(capacity: capacity)
                heritage = .nothing
            }
        }
        guard var layout = previous.next(for: next, on: network, capacity) else {
            throw BPFError.tooMany(next)
        }
        layout.rememberLeft(from: previous, for: lateReplies)
        let wanted = WantedHook.all(of: next, on: network, left: layout.left.interfaces)
        if serving != nil { opened = try hooks.open(wanted) }
        capacity.places = try EndpointTable.places(
            for: layout.endpoints + previous.endpoints, atLeast: capacity.places)
        layout.capacity = capacity
        let program: NATProgram
        do throws(BPFError) {
            program = try NATProgram(source, capacity: capacity, heritage: heritage)
        } catch {
            hooks.close(opened)
            throw error
        }
        if !program.forgotten.isEmpty { warnForgotten(program.forgotten, capacity) }
        try passLinks(of: network, to: program)
        try replace(by: program, layout, from: previous, at: opened, wanted)
    }

    private func replace(
        by program: NATProgram, _ layout: NATLayout, from previous: NATLayout,
        at opened: [PinnedHook], _ wanted: [WantedHook]
    ) throws(BPFError) {
        guard let prepared = try program.prepare(layout, from: previous, isNew: true) else {
            throw BPFError.tooMany([])
        }
        let hooked = try HookTable(wanted.map(\.interface))
        let entering: NATProgram.Entering
        do throws(BPFError) {
            try program.know(hooked)
            entering = try program.enter(layout, from: previous, prepared)
            try entering.wait()
            forgetRoutes(of: program)
            try hooks.replace(with: program.program, at: opened, wanted)
        } catch {
            program.withdraw(layout, to: previous)
            serving?.layout.burn(layout)
            throw error
        }
        // From here on packets use it, and nothing fails any more.
        let left = program.leave(previous, for: layout, prepared, after: entering)
        hooks.leave(allBut: wanted)
        keepDeparted(from: previous, to: layout, program)
        var layout = layout
        layout.reclaim(from: previous)
        serving = Serving(
            program: program, layout: layout, endpoints: left.endpoints, hooked: hooked)
        if let failure = left.failure { warnKept(failure) }
    }

    private func warnKept(_ failure: BPFError) {
        logger.warning(
            "entries of removed receivers are still in the tables",
            metadata: ["error": "\(failure)"])
    }

    func capacity(for next: [Listener], on network: NetworkView) -> NATCapacity {
        NATCapacity(
            for: next, endpoints: NATLayout.endpoints(of: next, on: network),
            families: NATLayout.families(of: next, on: network))
    }

    private func warnForgotten(_ maps: [String], _ capacity: NATCapacity) {
        logger.warning(
            "associations are lost, clients get new servers",
            metadata: [
                "maps": "\(maps.joined(separator: ","))",
                "reason": "they have another size than max_associations and unanswered want now",
                "max_associations": "\(capacity.memory.associations)",
            ])
    }
}
