// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
package import Logging

/// Says which receivers are out of reach, and which are within reach again, each time that this changes.
package struct ReachLog: Sendable {
    private let logger: Logger
    private let needsForwarding: Bool
    /// What was warned of and still is so.
    private var blockages: Set<Blockage> = []

    /// - Parameter needsForwarding: whether the kernel has to forward what it is to send for the plane.
    package init(logger: Logger, needsForwarding: Bool) {
        self.logger = logger
        self.needsForwarding = needsForwarding
    }

    package mutating func tell(of listeners: [Listener], on network: NetworkView) {
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
    }

    /// Nobody is served any more.
    package mutating func forget() { blockages = [] }

    private func logFreed(_ now: [Blockage], _ listeners: [Listener]) {
        for former in blockages {
            let stuck = Set(now.filter { $0.listener == former.listener }.flatMap(\.receivers))
            let present = listeners.first { $0.name == former.listener }?.downstreams ?? []
            let wanted = Set(present.filter { $0.weight > 0 }.map(\.name))
            let freed = former.receivers.filter { wanted.contains($0) && !stuck.contains($0) }
            guard !freed.isEmpty else { continue }
            logger.info(
                "receivers are within reach again",
                metadata: [
                    "listener": "\(former.listener)",
                    "downstreams": "\(freed.joined(separator: ","))",
                ])
        }
    }
}
