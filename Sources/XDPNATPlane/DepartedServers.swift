// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Servers that have left not long ago. What they were asked before they still answer, so for a while their
/// packets to clients leave as the service's, as before.
struct DepartedServers: Sendable {
    struct Entry: Sendable {
        let seat: IDAllocator.Seat
        let server: IDAllocator.ServerEntry
        /// By which its answers come in; nil when that is not known.
        let interface: UInt32?
        let end: ContinuousClock.Instant
    }

    /// In the order in which they left.
    private(set) var entries: [Entry] = []

    /// Those who left first give way to others.
    private static let most = Int(LB_SERVERS_MAX)

    var interfaces: Set<UInt32> { Set(entries.compactMap(\.interface)) }

    func isOver(at now: ContinuousClock.Instant) -> Bool { entries.contains { $0.end <= now } }

    /// Without those whose time is over, or whose front is gone.
    func kept(at now: ContinuousClock.Instant, vipPorts: Set<UInt32>) -> DepartedServers {
        DepartedServers(
            entries: entries.filter { $0.end > now && vipPorts.contains($0.seat.vipPort) })
    }

    mutating func add(_ left: [Entry]) {
        entries += left
        entries.removeFirst(max(0, entries.count - Self.most))
    }
}
