// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import KernelForwarding
internal import Logging

extension XDPNATPlane {
    package func networkChanged() {
        if let program = serving?.program { forgetRoutes(of: program) }
    }

    package func tick() {
        hooks.restoreDetached()
        keepNeighbours()
        forgetLeft()
    }

    /// Makes a program look up its routes again. Where rules select tables, the route may depend on the source and the
    /// ports, too.
    func forgetRoutes(of program: NATProgram) {
        do {
            if state.netlink == nil { state.netlink = try Netlink() }
            let isByFlow = try state.netlink!.rules().contains { !$0.isUsual }
            try program.forgetRoutes(byFlow: isByFlow)
        } catch {
            logger.warning("routes are cached for each flow", metadata: ["error": "\(error)"])
            try? program.forgetRoutes(byFlow: true)
        }
    }

    /// Makes the kernel probe the neighbours that packets are sent to. It sees none of these packets, so it would use
    /// an outdated address for ever. Servers are known; clients and their routers are among the stale neighbours of the
    /// interfaces.
    private func keepNeighbours() {
        guard let network, serving?.layout.capacity.isRouted == true, state.netlink != nil else {
            return
        }
        state.use(Set(network.paths.values.compactMap(\.hop)))
        for hook in hooks.all {
            let known = (try? state.netlink!.neighbours(on: hook.interface.index)) ?? []
            let silent = known.filter { $0.state == .stale }.map {
                LinkLayer.Hop(interface: $0.interface, address: $0.address)
            }
            state.use(silent)
        }
    }

    /// Ends the translation of expired late replies.
    private func forgetLeft() {
        guard state.isFollowing, let network, serving?.layout.left.isOver(at: .now) == true else {
            return
        }
        do throws(PlaneError) {
            try apply(listeners, on: network)
        } catch {
            logger.warning(
                "replies of removed receivers are still translated",
                metadata: ["error": "\(error)"])
        }
    }

    /// Logs the obstacles for packets, at each change.
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
