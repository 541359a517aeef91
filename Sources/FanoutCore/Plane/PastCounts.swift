// SPDX-License-Identifier: Apache-2.0

/// Counters that can be added up.
public protocol CounterSum: Equatable, Sendable {
    /// Nothing counted.
    init()
    mutating func add(_ other: Self)
}

/// Counts of a listener's receivers from sources that are gone: rows of a replaced program, links of ended workers,
/// and everything that departed receivers counted.
///
/// The most recently departed receivers are kept one by one: a receiver that comes back continues its counters.
/// Older ones are added into one sum, so memory does not grow with the number of receivers that ever existed.
public struct PastCounts<Sum: CounterSum>: Equatable, Sendable {
    private struct Entry: Equatable {
        var sum = Sum()
        /// The sequence number of its departure; nil while it is present.
        var departure: UInt64?
    }

    /// How many departed receivers are kept one by one: as many as a listener can have.
    public static var kept: Int { 1024 }

    private var entries: [Endpoint: Entry] = [:]
    private var departures: UInt64 = 0
    private var forgotten = Sum()

    public init() {}

    /// The counts of a receiver that is kept, present or not.
    public subscript(receiver: Endpoint) -> Sum? { entries[receiver]?.sum }

    /// How many receivers are kept one by one.
    public var count: Int { entries.count }

    public mutating func add(_ sum: Sum, of receiver: Endpoint) {
        guard sum != Sum() else { return }
        entries[receiver, default: Entry()].sum.add(sum)
    }

    /// Adds all counts of `other`. Call it before the current receivers are set.
    public mutating func add(_ other: PastCounts) {
        forgotten.add(other.forgotten)
        for (receiver, entry) in other.entries {
            add(entry.sum, of: receiver)
            if entry.departure != nil, entries[receiver]?.departure == nil { leave(receiver) }
        }
    }

    /// Sets the receivers that are present. Merges departed ones beyond the last `kept` into the sum.
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

    /// The sum over all receivers that are not present.
    public var departed: Sum {
        entries.values.filter { $0.departure != nil }.reduce(into: forgotten) { $0.add($1.sum) }
    }

    private mutating func leave(_ receiver: Endpoint) {
        departures += 1
        entries[receiver]?.departure = departures
    }
}
