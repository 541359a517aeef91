// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import KernelForwarding
internal import KernelPrograms

/// The kernel program with its own maps. The program is attached to interfaces; the plane decides the content of the
/// maps.
final class TCProgram: Sendable {
    let capacity: TableCapacity
    /// The maps with the map of fragments, which has the receivers of datagrams that have started.
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

    /// A table that is written to the kernel, but not used by packets yet.
    final class Table: Sendable {
        let number: UInt32
        fileprivate let shared: SharedMap

        init(_ bytes: [UInt8], number: UInt32) throws(BPFError) {
            self.number = number
            shared = SharedMap(try BPFMap(singleNamed: "lb_table", valueBytes: bytes.count))
            try shared.map.set(UInt32(0), to: bytes)
        }
    }

    /// The tables that are new or different in `layout`. Changes nothing yet.
    func prepare(_ layout: Layout, from previous: Layout) throws(BPFError) -> [Table] {
        var prepared: [Table] = []
        for (name, place) in layout.places where previous.places[name] != place {
            prepared.append(try Table(place.table, number: place.number))
        }
        return prepared
    }

    /// Changes the maps from one layout to the next: tables, then the destinations that refer to them, then the
    /// removal of unused entries. When it returns, no packet uses a removed entry: the kernel makes a change of an
    /// array of maps wait for running programs (kernel/bpf/syscall.c, maybe_wait_bpf_programs).
    ///
    /// - Parameter met: called when packets use the new tables; the wait is still to come.
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

    /// Makes packets for these ports search all destinations until the change is complete. Otherwise they would use the
    /// table of their listener when it already has another destination.
    private func share(_ turning: [UInt16], _ previous: Layout) throws(BPFError) {
        guard !turning.isEmpty else { return }
        for port in turning { try ports.set(UInt32(port), to: LB_PORT_SHARED) }
        try settle(previous)
    }

    /// Waits until no packet in the program uses a removed entry.
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
