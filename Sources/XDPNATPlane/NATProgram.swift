// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import KernelPrograms

/// The kernel program and its maps. What stands in the maps is the plane's to say.
///
/// The maps in which clients, services and servers are remembered are handed on from one program to the
/// next, so that nothing is forgotten when a program takes another one's place.
final class NATProgram: Sendable {
    let capacity: NATCapacity
    let program: XDPProgram
    /// What the next program takes over.
    let memory: NATMemory
    private let endpoints: BPFMap
    private let services: BPFMap
    private let servers: BPFMap
    private let tables: BPFMap
    private let rows: BPFMap
    private let serverRows: BPFMap
    private let turns: BPFMap
    /// What the program checks to see whether a route that it remembers still holds.
    private let routes: BPFMap?

    static let name = "xdp_nat"

    /// What a program takes over from another one.
    enum Heritage {
        case nothing
        /// From one of this process: the counters as well.
        case own(NATProgram)
        /// From one that a former process left; what that counted is not ours.
        case left(NATMemory)
    }

    /// Maps of associations of the one before that have another size than is wanted now.
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
        case .own(let former):
            forgotten = try former.memory.share(with: &object)
            try object.share("nat_rows", former.rows)
            try object.share("server_rows", former.serverRows)
            try object.share("turns", former.turns)
        }
        try object.load()
        self.capacity = capacity
        memory = try NATMemory(of: object)
        program = try XDPProgram(of: object, named: Self.name)
        endpoints = try object.map(named: "endpoints")
        services = try object.map(named: "services")
        servers = try object.map(named: "servers")
        tables = try object.map(named: "tables")
        rows = try object.map(named: "nat_rows")
        serverRows = try object.map(named: "server_rows")
        turns = try object.map(named: "turns")
        routes = object.hasMap(named: "routes") ? try object.map(named: "routes") : nil
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
        for (family, isServed) in [("4", memory.servesV4), ("6", memory.servesV6)] {
            try object.size("associations" + family, entries: isServed ? memory.associations : 1)
            try object.size("unanswered" + family, entries: isServed ? memory.unanswered : 1)
        }
        try object.size(mapsIn: "tables", valueBytes: capacity.tableBytes)
        try object.size(
            mapsIn: "endpoints",
            valueBytes: capacity.places * MemoryLayout<lb_nat_endpoint>.size)
        if capacity.isRouted, object.constantNames.contains("lb_nat_ways") {
            try object.set("lb_nat_ways", to: UInt32(NATCapacity.ways))
            try object.size("ways", entries: NATCapacity.ways)
        }
    }

    // MARK: Layouts

    /// Maps on their way into the kernel, which no packet meets yet.
    final class Prepared: Sendable {
        fileprivate let tables: [Table]
        /// Those of both layouts.
        fileprivate let union: Table
        /// nil when it is the union.
        fileprivate let final: Table?

        fileprivate init(tables: [Table], union: Table, final: Table?) {
            (self.tables, self.union, self.final) = (tables, union, final)
        }
    }

    fileprivate final class Table: Sendable {
        let number: UInt32
        let map: BPFMap

        init(_ bytes: [UInt8], number: UInt32, named name: String) throws(BPFError) {
            self.number = number
            map = try BPFMap(singleNamed: name, valueBytes: bytes.count)
            try map.set(UInt32(0), to: bytes)
        }
    }

    /// Makes what `layout` needs and `former` has not. Nothing is altered yet.
    ///
    /// - Parameter isNew: whether nothing stands in this program's own maps.
    /// - Returns: nil when the endpoints do not fit into the places that there are.
    func prepare(
        _ layout: NATLayout, from former: NATLayout, isNew: Bool
    ) throws(BPFError) -> Prepared? {
        var made: [Table] = []
        for (name, front) in layout.fronts
        where isNew || former.fronts[name]?.table != front.table
            || former.fronts[name]?.number != front.number
        {
            made.append(try Table(front.table, number: front.number, named: "lb_table"))
        }
        let (next, both) = (layout.endpoints, layout.endpoints + former.endpoints)
        guard let final = EndpointTable.bytes(next, places: capacity.places),
            let union = EndpointTable.bytes(both, places: capacity.places)
        else { return nil }
        return Prepared(
            tables: made, union: try Table(union, number: 0, named: "lb_endpoints"),
            final: union == final ? nil : try Table(final, number: 0, named: "lb_endpoints"))
    }

    /// Brings in who is new: the answers of a server are known for such before it has clients.
    func enter(
        _ layout: NATLayout, from former: NATLayout, _ prepared: Prepared
    ) throws(BPFError) {
        for front in layout.fronts.values {
            for (service, number) in front.services
            where former.roll.services[service]?.front != front.number {
                let entry = lb_nat_service(service, front: front.number)
                try services.set(UInt32(number), to: entry)
            }
        }
        try endpoints.set(UInt32(0), to: prepared.union.map.descriptor)
        for front in layout.fronts.values {
            for (endpoint, server) in front.servers
            where former.roll.servers[.init(front: front.number, server: endpoint)]?.generation
                != server.generation
            {
                let entry = lb_nat_server(endpoint, server, front: front.number)
                try servers.set(UInt32(server.number), to: entry)
            }
        }
        for table in prepared.tables { try tables.set(table.number, to: table.map.descriptor) }
    }

    /// Takes out who has left. When it returns, no packet is on its way by what has gone: the kernel lets
    /// a change of an array of maps wait for the programs that run (kernel/bpf/syscall.c,
    /// maybe_wait_bpf_programs).
    func leave(
        _ former: NATLayout, for layout: NATLayout, _ prepared: Prepared
    ) throws(BPFError) {
        for entry in layout.roll.departed(from: former.roll).values {
            try servers.set(
                UInt32(entry.number), to: lb_nat_server(departed: entry.generation))
        }
        try endpoints.set(UInt32(0), to: (prepared.final ?? prepared.union).map.descriptor)
        let numbers = Set(layout.fronts.values.map(\.number))
        for front in former.fronts.values where !numbers.contains(front.number) {
            try tables.remove(front.number)
        }
    }

    /// Undoes `enter` as far as another program could notice it.
    func withdraw(_ layout: NATLayout, to former: NATLayout) {
        for entry in former.roll.departed(from: layout.roll).values {
            try? servers.set(
                UInt32(entry.number), to: lb_nat_server(departed: entry.generation))
        }
    }

    /// Waits until no packet is on its way through the program.
    func settle(_ maps: Prepared) throws(BPFError) {
        try endpoints.set(UInt32(0), to: (maps.final ?? maps.union).map.descriptor)
    }

    /// Has every route that was remembered be looked up again.
    ///
    /// - Parameter byFlow: whether the way of a packet depends on more than its destination.
    func forgetRoutes(byFlow: Bool) throws(BPFError) {
        guard let bytes = try routes?.value(of: UInt32(0)) else { return }
        let flag = UInt32(LB_NAT_BY_FLOW)
        let word = bytes.words(of: UInt32.self).first ?? 0
        try routes?.set(UInt32(0), to: ((word &+ 2) & ~flag) | (byFlow ? flag : 0))
    }

    // MARK: Counters

    func row(_ front: UInt32, _ direction: lb_nat_direction) throws(BPFError) -> [UInt64] {
        try rows.sum(of: lb_nat_row_of(front, direction))
    }

    /// Of packets that no listener can be told of.
    func nobody() throws(BPFError) -> [UInt64] { try rows.sum(of: UInt32(LB_NAT_NOBODY)) }

    func serverRow(_ number: UInt16, _ direction: lb_nat_direction) throws(BPFError) -> [UInt64] {
        try serverRows.sum(of: lb_nat_row_of(UInt32(number), direction))
    }

    func clearRows(_ front: UInt32) throws(BPFError) {
        for direction in [LB_NAT_INGRESS, LB_NAT_EGRESS] {
            try rows.clear(lb_nat_row_of(front, direction))
        }
    }

    func clearServerRows(_ number: UInt16) throws(BPFError) {
        for direction in [LB_NAT_INGRESS, LB_NAT_EGRESS] {
            try serverRows.clear(lb_nat_row_of(UInt32(number), direction))
        }
    }
}
