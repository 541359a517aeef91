// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import KernelForwarding
internal import KernelPrograms

/// The kernel program with its own maps. The program is attached to interfaces; the plane decides the content
/// of the maps.
final class TCProgram: Sendable {
    let capacity: TableCapacity
    /// With the map of fragments: where those go whose datagram has begun.
    let program: HookProgram
    private let listeners: BPFMap
    private let ports: BPFMap
    private let tables: SharedMap
    private let listenerRows: BPFMap
    private let receiverRows: BPFMap

    /// The name of the program and of clsact's filter.
    static let name = "udp_fanout"
    static let pins = HookPins(
        prefix: "interface-", link: "tc_link", maps: ["fragments"], filterName: name)

    /// - Parameter maps: those of the program that this one replaces.
    /// - Throws: `BPFError` when the object is not one of ours or the kernel refuses it.
    init(
        _ source: ProgramSource, capacity: TableCapacity, maps: PinnedMaps?
    ) throws(BPFError) {
        var object = try source.open(.tcFanout, with: Self.name)
        try object.set("lb_receivers_max", to: UInt32(capacity.receivers))
        try object.set("lb_slots_max", to: UInt32(capacity.slots))
        try object.set("lb_serves_any", to: UInt8(capacity.servesAny ? 1 : 0))
        try object.size("listeners", entries: capacity.entries)
        try object.size("receiver_rows", entries: capacity.rows)
        try object.size(mapsIn: "tables", valueBytes: capacity.tableBytes)
        for name in Self.pins.maps { try maps?.share(name, with: &object) }
        try object.load()
        self.capacity = capacity
        program = HookProgram(
            try object.program(named: Self.name),
            maps: try PinnedMaps(of: object, named: Self.pins.maps))
        listeners = try object.map(named: "listeners")
        ports = try object.map(named: "ports")
        tables = SharedMap(try object.map(named: "tables"))
        listenerRows = try object.map(named: "listener_rows")
        receiverRows = try object.map(named: "receiver_rows")
    }

    /// A table on its way into the kernel, which no packet meets yet.
    final class Table: Sendable {
        let number: UInt32
        fileprivate let shared: SharedMap

        init(_ bytes: [UInt8], number: UInt32) throws(BPFError) {
            self.number = number
            shared = SharedMap(try BPFMap(singleNamed: "lb_table", valueBytes: bytes.count))
            try shared.map.set(UInt32(0), to: bytes)
        }
    }

    /// The tables that `layout` has and `previous` has not, or has otherwise. Nothing is altered yet.
    func prepare(_ layout: Layout, from previous: Layout) throws(BPFError) -> [Table] {
        var prepared: [Table] = []
        for (name, place) in layout.places where previous.places[name] != place {
            prepared.append(try Table(place.table, number: place.number))
        }
        return prepared
    }

    /// Leads the maps from one layout to the next: tables, then the destinations that lead to them,
    /// then what leads nowhere any more goes. When it returns, no packet is on its way by what has gone:
    /// the kernel lets a change of an array of maps wait for the programs that run
    /// (kernel/bpf/syscall.c, maybe_wait_bpf_programs).
    ///
    /// - Parameter met: called when packets meet the new tables; the wait is still to come.
    func adopt(
        _ layout: Layout, from previous: Layout, _ prepared: [Table], met: () -> Void = {}
    ) throws(BPFError) {
        try share(previous.portsTurning(into: layout), previous)
        let exchange = try MapExchange.begin(in: tables, prepared.map { ($0.number, $0.shared) })
        met()
        try exchange.wait()
        for (entry, number) in layout.entries where previous.entries[entry] != number {
            try listeners.set(entry.key, to: number)
        }
        for (port, served) in layout.ports where previous.ports[port] != served {
            try ports.set(UInt32(port), to: served.value)
        }
        var hasWaited = true
        for port in previous.ports.keys where layout.ports[port] == nil {
            try ports.set(UInt32(port), to: UInt32(LB_PORT_FREE))
            hasWaited = false
        }
        for entry in previous.entries.keys where layout.entries[entry] == nil {
            try listeners.remove(entry.key)
            hasWaited = false
        }
        for number in layout.numbersLeft(by: previous) {
            try tables.map.remove(number)
            hasWaited = true
        }
        if !hasWaited { try settle(layout) }
    }

    /// Has packets for these ports look among all destinations until the change is made. Otherwise they
    /// would meet the table of their listener when it names another destination already.
    private func share(_ turning: [UInt16], _ previous: Layout) throws(BPFError) {
        guard !turning.isEmpty else { return }
        for port in turning { try ports.set(UInt32(port), to: LB_PORT_SHARED) }
        try settle(previous)
    }

    /// Waits until no packet is on its way through the program by anything that was taken out before.
    func settle(_ layout: Layout) throws(BPFError) {
        guard let place = layout.places.values.first else { return }
        let table = try Table(place.table, number: place.number)
        try tables.map.set(table.number, to: table.shared.map.descriptor)
    }

    // MARK: Counters

    func listenerRow(_ row: UInt32) throws(BPFError) -> [UInt64] { try listenerRows.sum(of: row) }

    func receiverRow(_ row: UInt32) throws(BPFError) -> [UInt64] { try receiverRows.sum(of: row) }

    func clearListenerRow(_ row: UInt32) throws(BPFError) { try listenerRows.clear(row) }

    func clearReceiverRows(_ rows: [UInt32]) throws(BPFError) { try receiverRows.clear(rows) }
}
