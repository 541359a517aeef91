// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
package import Logging

/// Logs which receivers are out of reach and which listeners serve nothing, and when that ends, at each change.
package struct ReachLog: Sendable {
    private let logger: Logger
    private let needsForwarding: Bool
    /// The active warnings.
    private var blockages: Set<Blockage> = []
    /// Listeners that were logged as serving nothing, for want of an address.
    private var idle: Set<String> = []

    /// - Parameter needsForwarding: whether the plane depends on the kernel's forwarding.
    package init(logger: Logger, needsForwarding: Bool) {
        self.logger = logger
        self.needsForwarding = needsForwarding
    }

    package mutating func log(_ listeners: [Listener], on network: NetworkView) {
        let now = Blockage.all(of: listeners, on: network, needsForwarding: needsForwarding)
        for blockage in now where !blockages.contains(blockage) {
            logger.warning(
                "receivers are out of reach, their datagrams are dropped",
                metadata: [
                    "listener": "\(blockage.listener)", "interface": "\(blockage.interface)",
                    "downstreams": "\(blockage.receivers.joined(separator: ","))",
                    "reason": "\(blockage.reason)", "remedy": "\(blockage.remedy)",
                ])
        }
        logFreed(now, listeners)
        blockages = Set(now)
        logIdle(listeners, on: network)
    }

    /// Resets the log: no listener is served any more.
    package mutating func forget() {
        blockages = []
        idle = []
    }

    /// The causes of unreachable receivers.
    package func obstructions(
        of listeners: [Listener], on network: NetworkView?
    ) -> [Obstruction] {
        guard let network else { return [] }
        let blockages = Blockage.all(
            of: listeners, on: network, needsForwarding: needsForwarding)
        return network.idle(listeners) + blockages.map(\.obstruction)
    }

    /// The planes log deleted interfaces and those that are down, once for all of their listeners.
    private mutating func logIdle(_ listeners: [Listener], on network: NetworkView) {
        let without = listeners.filter { Idleness($0, on: network) == .noAddress }
        for listener in without where !idle.contains(listener.name) {
            logger.warning(
                "listener serves nothing, its interface has no address",
                metadata: [
                    "listener": "\(listener.name)", "bind": "\(listener.place)",
                    "interface": "\(listener.interface ?? "")",
                    "remedy": "\(Idleness.addressRemedy)",
                ])
        }
        let serving = listeners.filter { Idleness($0, on: network) == nil }
        for listener in serving where idle.contains(listener.name) {
            logger.info(
                "listener serves again",
                metadata: ["listener": "\(listener.name)", "bind": "\(listener.place)"])
        }
        idle = idle.union(without.map(\.name)).subtracting(serving.map(\.name))
            .intersection(listeners.map(\.name))
    }

    private func logFreed(_ now: [Blockage], _ listeners: [Listener]) {
        for previous in blockages {
            let stuck = Set(now.filter { $0.listener == previous.listener }.flatMap(\.receivers))
            let present = listeners.first { $0.name == previous.listener }?.downstreams ?? []
            let wanted = Set(present.filter { $0.weight > 0 }.map(\.name))
            let freed = previous.receivers.filter { wanted.contains($0) && !stuck.contains($0) }
            guard !freed.isEmpty else { continue }
            logger.info(
                "receivers are within reach again",
                metadata: [
                    "listener": "\(previous.listener)",
                    "downstreams": "\(freed.joined(separator: ","))",
                ])
        }
    }
}
