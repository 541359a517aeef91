// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import KernelForwarding
internal import Logging

// Interfaces come and go, addresses and routes change. The kernel tells of it; the plane then looks at the
// network again, and where that makes a difference it leads maps and hooks there.

extension XDPNATPlane {
    /// The network as it is, for these listeners. The addresses of every interface matter: what servers
    /// send to them is for the host, not for clients.
    ///
    /// - Parameter since: the way to a receiver is not to be older.
    func look(
        for listeners: [Listener], since: ContinuousClock.Instant
    ) throws(PlaneError) -> NetworkView {
        let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
        do throws(NetlinkError) {
            if netlink == nil { netlink = try Netlink() }
            var network = try NetworkView.ask(
                &netlink!, names: nil, known: hooked, receivers: Set(receivers), memory: memory,
                since: since)
            try addFeatures(to: &network)
            return network
        } catch {
            throw PlaneError(looking: error)
        }
    }

    /// The interfaces that are hooked, by the names that the configuration has for them.
    private var hooked: [String: UInt32] {
        Dictionary(hooks.all.map { ($0.interface.name, $0.interface.index) }) { first, _ in first }
    }

    /// Every interface, when the network has not been looked at for a layout yet.
    var interfacesNow: [HostInterface] { (try? look(for: [], since: .now))?.interfaces ?? [] }

    /// The network as it was seen for this change already, or else as it is.
    func anticipated(for listeners: [Listener]) throws(PlaneError) -> NetworkView {
        defer { anticipated = nil }
        if let seen = anticipated?.seen(for: listeners) { return seen }
        return try look(for: listeners, since: watch?.recently ?? .now)
    }

    /// Begins to follow the network, unless it is followed already. What changes after this has an event.
    func follow() throws(PlaneError) {
        guard watch == nil else { return }
        watch = try NetworkWatch(mindsFeatures: true, keepsRoutes: true) { [weak self] in
            await self?.refresh(since: $0, $1) ?? true
        }
        clock = Task { [weak self] in
            while (try? await Task.sleep(for: Self.period)) != nil {
                guard let self else { return }
                await self.restoreHooks()
                await self.keepNeighbours()
                await self.forgetLeft()
            }
        }
    }

    /// How often the neighbours in use are asked for, and those who have left are looked after.
    private static let period = Duration.seconds(2)

    func unfollow() {
        watch?.stop()
        watch = nil
        clock?.cancel()
        clock = nil
        netlink = nil
        netdev = nil
        anticipated = nil
    }

    /// Looks at the network and follows what has changed.
    ///
    /// - Parameter since: when that was.
    /// - Returns: false when that did not work out; everything is as it was then.
    private func refresh(since: ContinuousClock.Instant, _ change: NetworkChange) -> Bool {
        if change == .network { anticipated = nil }
        // An event may still be on its way here when the hooks have been left to another process.
        guard watch != nil, !listeners.isEmpty else { return true }
        if let program = serving?.program { forgetRoutes(of: program) }
        guard change == .network else { return true }
        do throws(PlaneError) {
            let now = try look(for: listeners, since: since)
            guard now != network else { return true }
            logGone(now)
            try bring(to: listeners, on: now)
            return true
        } catch {
            logger.error("the network's change is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Has a program look its routes up anew. Where rules choose among tables, the way may depend on the
    /// source and the ports, too.
    func forgetRoutes(of program: NATProgram) {
        do {
            if netlink == nil { netlink = try Netlink() }
            let isByFlow = try netlink!.rules().contains { !$0.isUsual }
            try program.forgetRoutes(byFlow: isByFlow)
        } catch {
            logger.warning("routes are remembered flow by flow", metadata: ["error": "\(error)"])
            try? program.forgetRoutes(byFlow: true)
        }
    }

    private func restoreHooks() { hooks.restoreDetached() }

    /// Has the kernel make sure that those whom packets are sent to are still where they were. It sees none
    /// of these packets, so an address that has changed would be in use for ever. Servers are known; clients
    /// and their routers are among those on the interfaces that were not heard of for a while.
    private func keepNeighbours() {
        guard let network, serving?.layout.capacity.isRouted == true, netlink != nil else { return }
        LinkLayer.use(Set(network.paths.values.compactMap(\.hop)), &netlink!)
        for hook in hooks.all {
            let known = (try? netlink!.neighbours(on: hook.interface.index)) ?? []
            let silent = known.filter { $0.state == .stale }.map {
                LinkLayer.Hop(interface: $0.interface, address: $0.address)
            }
            LinkLayer.use(silent, &netlink!)
        }
    }

    /// Ends the translation of late answers whose time is over.
    private func forgetLeft() {
        guard watch != nil, let network, serving?.layout.left.isOver(at: .now) == true else {
            return
        }
        do throws(PlaneError) {
            try bring(to: listeners, on: network)
        } catch {
            logger.warning(
                "answers of receivers that have left are still translated",
                metadata: ["error": "\(error)"])
        }
    }

    private func logGone(_ now: NetworkView) {
        for hook in hooks.all where now.interface(named: hook.interface.name) == nil {
            logger.warning(
                "interface is gone, its listeners wait for it to come back",
                metadata: [
                    "interface": "\(hook.interface.name)", "ifindex": "\(hook.interface.index)",
                ])
        }
    }

    /// Says what keeps packets from their way, each time that this changes.
    func warn(of network: NetworkView) {
        let now = Obstacle.all(of: listeners, on: network)
        for obstacle in now where !warnings.contains(obstacle.description) {
            logger.warning(
                "packets will not get through",
                metadata: [
                    "listener": "\(obstacle.listener)", "reason": "\(obstacle.reason)",
                    "remedy": "\(obstacle.remedy)",
                ])
        }
        warnings = Set(now.map(\.description))
    }
}
