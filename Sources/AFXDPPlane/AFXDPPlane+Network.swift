// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import HostNetwork
internal import Logging
internal import Netlink

// Interfaces come and go, addresses, routes and neighbours change. The kernel tells of it, but for the number
// of queues; the plane looks again, and where that makes a difference it leads programs, sockets and
// tables there.

extension AFXDPPlane {
    /// How often the neighbours in use are asked for, and queues are counted.
    private static let period = Duration.seconds(2)

    /// The network as it is, for these listeners.
    ///
    /// - Parameter since: the way to a receiver is not to be older.
    func look(
        for listeners: [Listener], since: ContinuousClock.Instant
    ) throws(PlaneError) -> (NetworkView, LinkLayer) {
        let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
        let known = Dictionary(
            served.values.map { ($0.interface.name, $0.interface.index) }
        ) { first, _ in first }
        do throws(NetlinkError) {
            if netlink == nil { netlink = try Netlink() }
            let network = try NetworkView.ask(
                &netlink!, names: Set(listeners.compactMap(\.interface)), known: known,
                receivers: Set(receivers), memory: memory, since: since)
            let links = try LinkLayer.ask(
                &netlink!, paths: Array(network.paths.values), queues: Self.queues)
            return (network, links)
        } catch {
            throw PlaneError(looking: error)
        }
    }

    private static func queues(_ name: String) -> (receive: UInt32, transmit: UInt32)? {
        var (receive, transmit): (UInt32, UInt32) = (0, 0)
        // SAFETY: the name is read, and both numbers written, before the call returns.
        guard unsafe cnet_queues(name, &receive, &transmit) == 0 else { return nil }
        return (receive, transmit)
    }

    /// The network as it was seen for this change already, or else as it is.
    func anticipated(for listeners: [Listener]) throws(PlaneError) -> (NetworkView, LinkLayer) {
        defer { anticipated = nil }
        if let seen = anticipated?.seen(for: listeners) { return seen }
        return try look(for: listeners, since: watch?.recently ?? .now)
    }

    /// Begins to follow the network, unless it is followed already. What changes after this has an event.
    func follow() throws(PlaneError) {
        guard watch == nil else { return }
        watch = try NetworkWatch { [weak self] since, _ in
            await self?.refresh(since: since) ?? true
        }
        clock = Task { [weak self] in
            while (try? await Task.sleep(for: Self.period)) != nil {
                guard let self else { return }
                await self.tick()
            }
        }
    }

    func unfollow() {
        watch?.stop()
        watch = nil
        clock?.cancel()
        clock = nil
        netlink = nil
        anticipated = nil
    }

    /// Looks at the network and follows what has changed.
    ///
    /// - Parameter since: when that was.
    /// - Returns: false when that did not work out; what was served before still is.
    private func refresh(
        since: ContinuousClock.Instant = .now, isRetrying: Bool = false
    ) -> Bool {
        anticipated = nil
        // An event may still be on its way here when the queues have been left to another process.
        guard watch != nil, !listeners.isEmpty else { return true }
        do throws(PlaneError) {
            let (now, below) = try look(for: listeners, since: since)
            keepNeighbours(now)
            guard now != network || below != links || isRetrying else { return true }
            logGone(now)
            try bring(to: listeners, on: now, below)
            return true
        } catch {
            logger.error("the network's change is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Now and then: what the kernel does not tell of.
    private func tick() {
        _ = refresh(isRetrying: isShort || !closed.isEmpty)
        guard watch != nil else { return }
        for interface in served.values where !interface.isAttached {
            restores.restore(at: interface.interface, logger) { try interface.attachAgain() }
        }
    }

    /// Keeps the neighbours that lead to receivers, and has those found that are not known yet.
    func keepNeighbours(_ network: NetworkView) {
        guard netlink != nil else { return }
        LinkLayer.use(Set(network.paths.values.compactMap(\.hop)), &netlink!)
    }

    private func logGone(_ now: NetworkView) {
        for interface in served.values where now.interface(named: interface.interface.name) == nil {
            logger.warning(
                "interface is gone, its listeners wait for it to come back",
                metadata: [
                    "interface": "\(interface.interface.name)",
                    "ifindex": "\(interface.interface.index)",
                ])
        }
    }
}
