// SPDX-License-Identifier: Apache-2.0

/// Counters that can be added up.
public protocol CounterSum: Equatable, Sendable {
    /// Nothing counted.
    init()
    mutating func add(_ other: Self)
}

/// What the receivers of a listener counted in places that are no more: rows of a program that another one
/// has replaced, links of workers that have ended, and all that those counted who have left.
///
/// Of those who have left the last ones are known one by one: one that comes back goes on where it was. Those
/// before them are one sum, so that memory does not grow with the receivers that ever were.
public struct PastCounts<Sum: CounterSum>: Equatable, Sendable {
    private struct Entry: Equatable {
        var sum = Sum()
        /// The number of its departure; nil while it is there.
        var departure: UInt64?
    }

    /// Of how many that have left it is known who they are: as many as a listener can have.
    public static var kept: Int { 1024 }

    private var entries: [Endpoint: Entry] = [:]
    private var departures: UInt64 = 0
    private var forgotten = Sum()

    public init() {}

    /// What is known of a receiver, whether it is there or not.
    public subscript(receiver: Endpoint) -> Sum? { entries[receiver]?.sum }

    /// How many receivers are known one by one.
    public var count: Int { entries.count }

    public mutating func add(_ sum: Sum, of receiver: Endpoint) {
        guard sum != Sum() else { return }
        entries[receiver, default: Entry()].sum.add(sum)
    }

    /// Adds all counts of another one. Call it before the current receivers are set.
    public mutating func add(_ other: PastCounts) {
        forgotten.add(other.forgotten)
        for (receiver, entry) in other.entries {
            add(entry.sum, of: receiver)
            if entry.departure != nil, entries[receiver]?.departure == nil { leave(receiver) }
        }
    }

    /// Says who is there by now. Who has been gone for longer than the last `kept` is forgotten.
    public mutating func settle(present: some Sequence<Endpoint>) {
        guard !entries.isEmpty else { return }
        let present = Set(present)
        for place in entries.indices {
            if present.contains(entries[place].key) {
                entries.values[place].departure = nil
            } else if entries.values[place].departure == nil {
                departures += 1
                entries.values[place].departure = departures
            }
        }
        guard entries.count > Self.kept else { return }
        let gone = entries.compactMap { receiver, entry in entry.departure.map { ($0, receiver) } }
        for (_, receiver) in gone.sorted(by: { $0.0 < $1.0 }).prefix(max(0, gone.count - Self.kept))
        {
            if let entry = entries.removeValue(forKey: receiver) { forgotten.add(entry.sum) }
        }
    }

    /// The sum over all that are not there, known or forgotten.
    public var departed: Sum {
        entries.values.filter { $0.departure != nil }.reduce(into: forgotten) { $0.add($1.sum) }
    }

    private mutating func leave(_ receiver: Endpoint) {
        departures += 1
        entries[receiver]?.departure = departures
    }
}
