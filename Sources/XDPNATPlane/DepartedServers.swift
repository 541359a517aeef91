// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Recently removed servers. They still answer earlier requests, so for a while their packets to clients leave as the
/// service's, as before.
struct DepartedServers: Sendable {
    struct Entry: Sendable {
        let seat: IDAllocator.Seat
        let server: IDAllocator.ServerEntry
        /// The interface of its replies; nil when it is unknown.
        let interface: UInt32?
        let end: ContinuousClock.Instant
    }

    /// In the order of their removal.
    private(set) var entries: [Entry] = []

    /// The maximum; beyond it the oldest go.
    private static let most = Int(LB_SERVERS_MAX)

    var interfaces: Set<UInt32> { Set(entries.compactMap(\.interface)) }

    func isOver(at now: ContinuousClock.Instant) -> Bool { entries.contains { $0.end <= now } }

    /// Without expired servers, and those of removed VIP ports.
    func kept(at now: ContinuousClock.Instant, vipPorts: Set<UInt32>) -> DepartedServers {
        DepartedServers(
            entries: entries.filter { $0.end > now && vipPorts.contains($0.seat.vipPort) })
    }

    mutating func add(_ left: [Entry]) {
        entries += left
        entries.removeFirst(max(0, entries.count - Self.most))
    }
}
