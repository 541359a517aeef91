// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import KernelForwarding
internal import Logging

// Interfaces come and go, addresses and routes change. The kernel tells of it; the plane then looks at the
// network again, and where that makes a difference it leads tables and hooks there.

extension TCPlane {
    /// The network as it is, for these listeners.
    ///
    /// - Parameter since: the way to a receiver is not to be older.
    func look(
        for listeners: [Listener], since: ContinuousClock.Instant
    ) throws(PlaneError) -> NetworkView {
        let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
        do throws(NetlinkError) {
            if netlink == nil { netlink = try Netlink() }
            return try NetworkView.ask(
                &netlink!, names: Set(listeners.compactMap(\.interface)), known: names,
                receivers: Set(receivers), mindsRules: true, memory: memory, since: since)
        } catch {
            throw PlaneError(looking: error)
        }
    }

    /// The interfaces that are hooked, by the names that the configuration has for them.
    private var names: [String: UInt32] {
        Dictionary(hooks.all.map { ($0.interface.name, $0.interface.index) }) { first, _ in first }
    }

    /// The network as it was seen for this change already, or else as it is.
    func anticipated(for listeners: [Listener]) throws(PlaneError) -> NetworkView {
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
                await self.restoreHooks()
                await self.keepPeers()
            }
        }
    }

    /// How often the hooks are looked at, and the hosts behind veths asked for.
    private static let period = Duration.seconds(2)

    private func restoreHooks() { hooks.restoreDetached() }

    /// Has the kernel make sure that hosts at the other end of a veth still have the address that frames
    /// bear: it sees none of these frames. Others it resolves for each packet.
    private func keepPeers() {
        guard let network, netlink != nil else { return }
        let peers = network.paths.values.filter {
            if case .peer = $0 { true } else { false }
        }
        LinkLayer.use(Set(peers.compactMap(\.hop)), &netlink!)
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
    /// - Returns: false when that did not work out; everything is as it was then.
    private func refresh(since: ContinuousClock.Instant) -> Bool {
        anticipated = nil
        // An event may still be on its way here when the hooks have been left to another process.
        guard watch != nil, !listeners.isEmpty else { return true }
        do throws(PlaneError) {
            let now = try look(for: listeners, since: since)
            guard now != network else { return true }
            logInterfaces(now)
            try bring(to: listeners, on: now)
            return true
        } catch {
            logger.error("the network's change is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Says what became of the interfaces that are hooked.
    private func logInterfaces(_ now: NetworkView) {
        for hook in hooks.all {
            let name = hook.interface.name
            let place: Logger.Metadata = [
                "interface": "\(name)", "ifindex": "\(hook.interface.index)",
            ]
            guard let after = now.interface(named: name) else {
                logger.warning(
                    "interface is gone, its listeners wait for it to come back", metadata: place)
                continue
            }
            guard after.index == hook.interface.index,
                let before = network?.interface(named: name), before.index == after.index
            else { continue }
            if before.nameNow != after.nameNow {
                logger.warning(
                    "interface was renamed, its listeners stay with it until the next start",
                    metadata: place.merging(["now": "\(after.nameNow)"]) { $1 })
            }
            if before.isUp, !after.isUp {
                logger.warning("interface is down, nothing comes in by it", metadata: place)
            } else if !before.isUp, after.isUp {
                logger.info("interface is up again", metadata: place)
            }
        }
    }
}
