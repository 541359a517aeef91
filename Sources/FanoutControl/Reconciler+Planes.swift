// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Logging

// Requests to all planes.

extension Reconciler {
    private func gather<Item>(_ ask: (any DataPlane) async -> [Item]) async -> [Item] {
        var all: [Item] = []
        for plane in planes { all += await ask(plane) }
        return all
    }

    private func sum(
        _ ask: (any DataPlane) async -> [String: UInt64]
    ) async -> [String: UInt64] {
        var all: [String: UInt64] = [:]
        for plane in planes { all.merge(await ask(plane)) { $0 &+ $1 } }
        return all
    }

    /// The counters of every listener, by name.
    public func counters() async -> [ListenerCounters] {
        await gather { await $0.counters() }.sorted { $0.listener < $1.listener }
    }

    /// Makes the planes send one datagram to each of `receivers` that is out of service.
    public func tryOut(_ receivers: Set<Endpoint>) async {
        for plane in planes { await plane.tryOut(receivers) }
    }

    /// Counters by receive queue.
    public func queueCounters() async -> [QueueCounters] {
        await gather { await $0.queueCounters() }
            .sorted { ($0.interface, $0.queue) < ($1.interface, $1.queue) }
    }

    /// What happened to packets, by the planes' own names.
    public func events() async -> [String: UInt64] {
        await sum { await $0.events() }
    }

    /// Packets that drivers did not accept, by interface.
    public func transmitErrors() async -> [String: UInt64] {
        await sum { await $0.transmitErrors() }
    }

    /// What prevents forwarding, over all planes.
    public func obstructions() async -> [Obstruction] {
        await gather { await $0.obstructions() }
    }

    /// Where the data planes are attached.
    public func attachments() async -> [Attachment] {
        await gather { await $0.attachments() }
    }

    /// The receiver that a source of a listener is associated with, if its plane has associations.
    public func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: Listener
    ) async -> Endpoint? {
        for plane in planes where type(of: plane).mode == listener.mode {
            return await plane.receiver(
                associatedWith: source, to: destination, of: listener.name)
        }
        return nil
    }

    /// What the workers of every data plane are doing.
    public func progress() async -> [WorkerProgress] {
        await gather { await $0.progress() }
    }

    /// The receivers that a name means: current ones, or drained ones that may come back.
    public func entries(named name: String) -> Set<DrainList.Entry> {
        let present = DrainList.entries(named: name, in: active)
        guard present.isEmpty else { return present }
        return view.drains.entries.filter { $0.description == name || $0.downstream == name }
    }
}

extension Reconciler {
    /// Removes what killed daemons left in the kernel, except what a plane has taken over.
    public func removeLeftovers() async {
        await queue.run { for plane in planes { await plane.removeLeftovers() } }
    }

    /// Hands everything over to another process; see `DataPlane.relinquish`.
    ///
    /// - Parameter modes: of these planes.
    public func relinquish(_ modes: Set<ForwardingMode>) async {
        await queue.run {
            for plane in planes where modes.contains(type(of: plane).mode) {
                await plane.relinquish()
            }
        }
    }

    /// Undoes `relinquish`. A plane that fails is logged as an error; the others continue.
    public func reclaim(_ modes: Set<ForwardingMode>) async {
        await queue.run {
            for plane in planes where modes.contains(type(of: plane).mode) {
                do throws(PlaneError) {
                    try await plane.reclaim()
                } catch {
                    logger.error(
                        "a plane cannot take back what it had left to another process",
                        metadata: [
                            "mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)",
                        ])
                }
            }
        }
    }
}
