// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import KernelForwarding
internal import KernelPrograms

/// The kernel program and its maps. The plane decides their content.
///
/// The maps of clients, services and servers are handed on from one program to the next, so that nothing is lost when a
/// program is replaced.
final class NATProgram: Sendable {
    let capacity: NATCapacity
    let program: HookProgram
    /// The maps that the next program takes over.
    let memory: PinnedMaps
    let endpoints: SharedMap
    let services: BPFMap
    let servers: BPFMap
    let tables: SharedMap
    private let rows: BPFMap
    private let serverRows: BPFMap
    private let turns: BPFMap
    /// The map that shows the program whether a cached route is still valid.
    private let routes: BPFMap?
    /// The interfaces of the program.
    private let hooked: BPFMap?
    private let begun: SharedMap?
    /// The link bits of interfaces.
    private let links: SharedMap?

    static let name = "xdp_nat"
    static let pins = HookPins(
        prefix: "nat-", link: "xdp_link", maps: PinnedMaps.numbers + PinnedMaps.associations)

    /// The predecessor of a program.
    enum Heritage {
        case nothing
        /// A program of this process, whose counters are taken over, too.
        case own(NATProgram)
        /// A program of an old process; its counters are not ours.
        case left(PinnedMaps)
    }

    /// Maps of associations of the previous program whose size differs from the wanted one.
    let forgotten: [String]

    /// - Throws: `BPFError` when the object is not one of ours or the kernel refuses it.
    init(
        _ source: ProgramSource, capacity: NATCapacity, heritage: Heritage
    ) throws(BPFError) {
        var object = try source.open(.xdpNAT, with: Self.name)
        try Self.prepare(&object, capacity)
        switch heritage {
        case .nothing: forgotten = []
        case .left(let memory): forgotten = try memory.share(with: &object)
        case .own(let previous):
            forgotten = try previous.memory.share(with: &object)
            try object.share("nat_rows", previous.rows)
            try object.share("server_rows", previous.serverRows)
            try object.share("turns", previous.turns)
            if let begun = previous.begun { try object.share("begun", begun.map) }
        }
        try object.load()
        self.capacity = capacity
        memory = try PinnedMaps(of: object, named: Self.pins.maps)
        program = try HookProgram(xdp: Self.name, of: object, maps: memory)
        endpoints = SharedMap(try object.map(named: "endpoints"))
        services = try object.map(named: "services")
        servers = try object.map(named: "servers")
        tables = SharedMap(try object.map(named: "tables"))
        rows = try object.map(named: "nat_rows")
        serverRows = try object.map(named: "server_rows")
        turns = try object.map(named: "turns")
        routes = object.hasMap(named: "routes") ? try object.map(named: "routes") : nil
        let name = LB_NAT_HOOKS_MAP
        hooked = object.hasMap(named: name) ? try object.map(named: name) : nil
        begun =
            object.hasMap(named: "begun") ? SharedMap(try object.map(named: "begun")) : nil
        links = object.hasMap(named: "links") ? SharedMap(try object.map(named: "links")) : nil
    }

    private static func prepare(
        _ object: inout BPFObject, _ capacity: NATCapacity
    ) throws(BPFError) {
        try object.set("lb_receivers_max", to: UInt32(capacity.receivers))
        try object.set("lb_slots_max", to: UInt32(capacity.slots))
        try object.set("lb_nat_places", to: UInt32(capacity.places))
        try object.set("lb_nat_packet_max", to: UInt32(capacity.packetMax))
        try object.set("lb_nat_routed", to: UInt8(capacity.isRouted ? 1 : 0))
        try object.set("lb_nat_tcp", to: UInt8(capacity.takesTCP ? 1 : 0))
        let memory = capacity.memory
        try object.set("lb_nat_waits", to: UInt8(memory.keepsUnansweredApart ? 1 : 0))
        if object.constantNames.contains("lb_nat_begin_ns") {
            try object.set("lb_nat_begin_ns", to: memory.nanosecondsPerServersAssociation)
        }
        for (family, isServed) in [("4", memory.servesV4), ("6", memory.servesV6)] {
            try object.size("associations" + family, entries: isServed ? memory.associations : 1)
            try object.size("unanswered" + family, entries: isServed ? memory.unanswered : 1)
        }
        try object.size(mapsIn: "tables", valueBytes: capacity.room.size)
        try object.size(
            mapsIn: "endpoints",
            valueBytes: capacity.places * MemoryLayout<lb_nat_endpoint>.size)
        if capacity.isRouted, object.constantNames.contains("lb_nat_ways") {
            try object.set("lb_nat_ways", to: UInt32(NATCapacity.ways))
            try object.size("ways", entries: NATCapacity.ways)
        }
    }

    /// Makes the program look up every cached route again.
    ///
    /// - Parameter byFlow: whether the route of a packet depends on more than its destination.
    func forgetRoutes(byFlow: Bool) throws(BPFError) {
        guard let bytes = try routes?.value(of: UInt32(0)) else { return }
        let flag = UInt32(LB_NAT_BY_FLOW)
        let word = bytes.words(of: UInt32.self).first ?? 0
        try routes?.set(UInt32(0), to: ((word &+ 2) & ~flag) | (byFlow ? flag : 0))
    }

    /// Sets the interfaces of packets, before the program is attached to them.
    func know(_ table: HookTable) throws(BPFError) {
        try hooked?.set(UInt32(0), to: [UInt8](native: table.places))
    }

    /// Sets the link bits of interfaces (enum lb_nat_link), by index, and removes all others.
    ///
    /// - Returns: whether anything changed.
    func setLinks(_ known: [UInt32: UInt32]) throws(BPFError) -> Bool {
        guard capacity.isRouted, let links else { return false }
        var previous: [UInt32: UInt32] = [:]
        try links.map.walk { previous[$0.read(UInt32.self)] = $1.read(UInt32.self) }
        for index in previous.keys where known[index] == nil { try links.map.remove(index) }
        for (index, link) in known where previous[index] != link {
            try links.map.set(index, to: link)
        }
        return previous != known
    }

    // MARK: Counters

    func row(_ vipPort: UInt32, _ direction: lb_nat_direction) throws(BPFError) -> [UInt64] {
        try rows.sum(of: lb_nat_row_of(vipPort, direction))
    }

    /// Counters of packets that belong to no known listener.
    func none() throws(BPFError) -> [UInt64] { try rows.sum(of: UInt32(LB_NAT_NO_LISTENER)) }

    func serverRow(_ number: UInt16, _ direction: lb_nat_direction) throws(BPFError) -> [UInt64] {
        try serverRows.sum(of: lb_nat_row_of(UInt32(number), direction))
    }

    func clearRows(_ vipPort: UInt32) throws(BPFError) {
        for direction in [LB_NAT_INGRESS, LB_NAT_EGRESS] {
            try rows.clear(lb_nat_row_of(vipPort, direction))
        }
    }

    func clearServerRows(_ numbers: [UInt16]) throws(BPFError) {
        try serverRows.clear(
            numbers.flatMap { number in
                [LB_NAT_INGRESS, LB_NAT_EGRESS].map { lb_nat_row_of(UInt32(number), $0) }
            })
    }
}
