// SPDX-License-Identifier: Apache-2.0

package import Logging

/// Attaches programs again that something else has detached from their interfaces, of which no event tells: counts it,
/// and logs it once for each interface while it fails.
package struct HookRestores: Sendable {
    /// Programs attached again, by the number of the interface.
    package private(set) var counts: [UInt32: UInt64] = [:]
    /// Interfaces at which it failed, which was logged.
    private var failing: Set<UInt32> = []

    package init() {}

    /// - Parameters:
    ///   - place: further fields for the log, such as what is in the program's place.
    ///   - attach: never takes the place of a foreign program.
    package mutating func restore(
        at interface: HostInterface, _ logger: Logger, place: Logger.Metadata = [:],
        attach: () throws -> Void
    ) {
        let place = place.merging(
            ["interface": "\(interface.name)", "ifindex": "\(interface.index)"]) { $1 }
        if !failing.contains(interface.index) {
            logger.warning(
                "the program was detached from the interface, it is attached again",
                metadata: place)
        }
        do {
            try attach()
            failing.remove(interface.index)
            counts[interface.index, default: 0] += 1
        } catch {
            // It is tried again until it works.
            guard failing.insert(interface.index).inserted else { return }
            logger.error(
                "the program cannot be attached again, nothing is forwarded",
                metadata: place.merging(["error": "\(error)"]) { $1 })
        }
    }

    /// Forgets an interface that the plane has left.
    package mutating func forget(_ index: UInt32) {
        failing.remove(index)
        counts[index] = nil
    }
}
