// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import HostNetwork
internal import Logging
internal import Netlink

// Interfaces come and go, addresses and routes change. The kernel tells of it; the plane then looks at the
// network again, and where that makes a difference it leads tables and hooks there.

extension TCPlane {
    /// The network as it is, for these listeners.
    func look(for listeners: [Listener]) throws(PlaneError) -> NetworkView {
        let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
        do throws(NetlinkError) {
            if netlink == nil { netlink = try Netlink() }
            return try NetworkView.ask(
                &netlink!, names: Set(listeners.compactMap(\.interface)), known: names,
                receivers: Set(receivers))
        } catch {
            throw PlaneError(looking: error)
        }
    }

    /// The interfaces that are hooked, by the names that the configuration has for them.
    private var names: [String: UInt32] {
        Dictionary(hooks.values.map { ($0.interface.name, $0.interface.index) }) { first, _ in first
        }
    }

    /// Begins to follow the network, unless it is followed already. What changes after this has an event.
    func follow() throws(PlaneError) {
        guard watch == nil else { return }
        watch = try NetworkWatch { [weak self] in await self?.refresh() ?? true }
    }

    func unfollow() {
        watch?.stop()
        watch = nil
        netlink = nil
    }

    /// Looks at the network and follows what has changed.
    ///
    /// - Returns: false when that did not work out; everything is as it was then.
    private func refresh() -> Bool {
        guard !listeners.isEmpty else { return true }
        do throws(PlaneError) {
            let now = try look(for: listeners)
            guard now != network else { return true }
            logGone(now)
            try bring(to: listeners, on: now)
            return true
        } catch {
            logger.error("the network's change is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func logGone(_ now: NetworkView) {
        for hook in hooks.values where now.interface(named: hook.interface.name) == nil {
            logger.warning(
                "interface is gone, its listeners wait for it to come back",
                metadata: [
                    "interface": "\(hook.interface.name)", "ifindex": "\(hook.interface.index)",
                ])
        }
    }

    /// Says which receivers are out of reach, each time that this changes.
    func warn(of network: NetworkView) {
        let now = Blockage.all(of: listeners, on: network)
        for blockage in now where !blockages.contains(blockage) {
            logger.warning(
                "receivers are out of reach, their datagrams are dropped",
                metadata: [
                    "listener": "\(blockage.listener)", "interface": "\(blockage.interface)",
                    "downstreams": "\(blockage.receivers.joined(separator: ","))",
                    "reason": "\(blockage.reason)", "remedy": "\(blockage.remedy)",
                ])
        }
        blockages = Set(now)
    }
}
