// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// The content of the maps of one program: the number, rows, table and destinations of each listener. A value: the
/// next layout is computed beside the active one.
struct Layout: Sendable {
    struct Place: Equatable, Sendable {
        /// The listener's index in the array of tables; also the row of its counters.
        var number: UInt32
        /// The row of each receiver's counters.
        var rows: [Endpoint: UInt32]
        var table: [UInt8]
    }

    let capacity: TableCapacity
    private(set) var places: [String: Place] = [:]
    private(set) var entries: [ServedDestination: UInt32] = [:]
    private(set) var ports: [UInt16: ServedPort] = [:]
    private var freeNumbers: [UInt32]
    private var freeRows: [UInt32]

    /// Empty.
    init(capacity: TableCapacity) {
        self.capacity = capacity
        freeNumbers = (0..<UInt32(LB_LISTENERS_MAX)).reversed()
        freeRows = (0..<UInt32(capacity.rows)).reversed()
    }

    /// The layout for other listeners. A listener that stays keeps its number and rows; released ones are free only
    /// after `reclaim`, when nothing refers to them any more.
    ///
    /// - Returns: nil when there is no room.
    func next(for listeners: [Listener], on network: NetworkView) -> Layout? {
        var next = Layout(keepingFreeOf: self)
        for listener in listeners {
            guard let place = next.place(for: listener, previous: places[listener.name]) else {
                return nil
            }
            next.places[listener.name] = place
            guard let interface = network.interface(named: listener.interface) else { continue }
            for entry in ServedDestination.all(of: listener, on: interface)
            where next.entries[entry] == nil {
                next.entries[entry] = place.number
            }
        }
        next.ports = ServedPort.all(of: next.entries)
        for listener in listeners { next.fillTable(of: listener, network) }
        return next.entries.count <= capacity.entries ? next : nil
    }

    /// Assigns numbers and rows to a listener, without a table; nil when there are not enough.
    private mutating func place(for listener: Listener, previous: Place?) -> Place? {
        guard listener.downstreams.count <= capacity.receivers,
            let number = previous?.number ?? freeNumbers.popLast()
        else { return nil }
        var rows: [Endpoint: UInt32] = [:]
        for downstream in listener.downstreams {
            guard let row = previous?.rows[downstream.endpoint] ?? freeRows.popLast() else {
                return nil
            }
            rows[downstream.endpoint] = row
        }
        return Place(number: number, rows: rows, table: [])
    }

    private mutating func fillTable(of listener: Listener, _ network: NetworkView) {
        guard let place = places[listener.name] else { return }
        var sole: ServedDestination?
        if case .sole(let entry, place.number) = ports[listener.bind.port] { sole = entry }
        places[listener.name]?.table =
            ListenerTable(
                listener: listener, row: place.number, rows: place.rows, sole: sole,
                paths: network.paths, capacity: capacity, unplugged: network.unplugged
            ).bytes
    }

    private init(keepingFreeOf other: Layout) {
        capacity = other.capacity
        freeNumbers = other.freeNumbers
        freeRows = other.freeRows
    }

    /// Receivers of `previous` that this layout does not have: their listener, endpoint and row.
    func rowsLeft(by previous: Layout) -> [(listener: String, endpoint: Endpoint, row: UInt32)] {
        previous.places.flatMap { name, place in
            place.rows.filter { places[name]?.rows[$0.key] != $0.value }
                .map { (name, $0.key, $0.value) }
        }
    }

    /// Numbers of `previous` without a listener now.
    func numbersLeft(by previous: Layout) -> [UInt32] {
        previous.places.filter { places[$0.key] == nil }.map(\.value.number)
    }

    /// Ports with a single destination that lose it, or share the port, in the next layout.
    func portsTurning(into next: Layout) -> [UInt16] {
        ports.filter { $0.value != .shared && next.ports[$0.key] != $0.value }.map(\.key)
    }

    /// Frees the numbers and rows that only `previous` had.
    mutating func reclaim(from previous: Layout) {
        freeRows += rowsLeft(by: previous).map(\.row)
        freeNumbers += numbersLeft(by: previous)
    }
}

/// The capacity of a program's maps. It is fixed when they are created.
struct TableCapacity: Equatable, Sendable {
    /// Receivers and slots of each listener's table.
    var receivers: Int
    var slots: Int
    /// Rows of counters for receivers, of all listeners together.
    var rows: Int
    /// Destinations that listeners serve: address, port and interface.
    var entries: Int
    /// Whether a listener serves every destination, so that the program must look for it.
    var servesAny: Bool

    /// Enough for the configured listeners, with room for changes of receivers and addresses.
    init(for listeners: [Listener], entries: Int) {
        let most = listeners.map { max($0.settings.maxDownstream, $0.downstreams.count) }
        receivers = most.max() ?? 1
        slots = MaglevTable.size(capacity: receivers)
        // A change may replace every receiver, while the rows of the removed ones are still in use.
        rows = .powerOfTwo(atLeast: max(64, 2 * most.reduce(0, +)))
        self.entries = .powerOfTwo(atLeast: max(1024, 2 * entries))
        servesAny = listeners.contains { $0.served == .any }
    }

    /// Whether a program of this capacity is enough for `other`.
    func covers(_ other: TableCapacity) -> Bool {
        receivers >= other.receivers && slots >= other.slots && rows >= other.rows
            && entries >= other.entries && (servesAny || !other.servesAny)
    }

    /// Enough for both, so that the capacity never shrinks.
    func joined(with other: TableCapacity?) -> TableCapacity {
        guard let other else { return self }
        var result = self
        result.receivers = max(receivers, other.receivers)
        result.slots = max(slots, other.slots)
        result.rows = max(rows, other.rows)
        result.entries = max(entries, other.entries)
        return result
    }

    var room: TableRoom { TableRoom(receivers: receivers, slots: slots) }
    var tableBytes: Int { room.size }
}
