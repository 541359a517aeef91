// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc

// Changes the maps of a program from one layout to the next. Packets use the new receivers as soon as the tables are
// exchanged; the kernel's waits come after that.

extension NATProgram {
    /// Maps that are written to the kernel, but not used by packets yet.
    struct Prepared {
        fileprivate let tables: [Table]
        /// The endpoints of both layouts.
        let endpoints: Table
        /// Entries for the endpoints that stay, so that none is missing once packets use the new tables.
        fileprivate let last: Table
    }

    /// A map in a map of maps.
    final class Table: Sendable {
        fileprivate let number: UInt32
        fileprivate let shared: SharedMap

        fileprivate convenience init(_ bytes: [UInt8], number: UInt32, named name: String)
            throws(BPFError)
        {
            try self.init(room: bytes.count, number: number, named: name)
            try fill(bytes)
        }

        fileprivate init(room bytes: Int, number: UInt32, named name: String) throws(BPFError) {
            self.number = number
            shared = SharedMap(try BPFMap(singleNamed: name, valueBytes: bytes))
        }

        fileprivate func fill(_ bytes: [UInt8]) throws(BPFError) {
            try shared.map.set(UInt32(0), to: bytes)
        }
    }

    /// A layout that is active, while packets may still use the previous one.
    struct Entering {
        fileprivate let exchanges: [MapExchange]

        /// Waits until no packet does.
        func wait() throws(BPFError) { for exchange in exchanges { try exchange.wait() } }
    }

    /// Prepares the maps that are new in `layout`. Changes nothing yet.
    ///
    /// - Parameter isNew: whether this program's own maps are empty.
    /// - Returns: nil when the endpoints do not fit into the places.
    func prepare(
        _ layout: NATLayout, from previous: NATLayout, isNew: Bool
    ) throws(BPFError) -> Prepared? {
        var made: [Table] = []
        for (name, vipPort) in layout.vipPorts
        where isNew || previous.vipPorts[name]?.table != vipPort.table
            || previous.vipPorts[name]?.number != vipPort.number
        {
            made.append(try Table(vipPort.table, number: vipPort.number, named: "lb_table"))
        }
        guard
            let both = EndpointTable.bytes(
                layout.endpoints(beside: previous, isNew: isNew), places: capacity.places)
        else { return nil }
        return Prepared(
            tables: made, endpoints: try Table(both, number: 0, named: "lb_endpoints"),
            last: try Table(room: both.count, number: 0, named: "lb_endpoints"))
    }

    /// Adds the new endpoints: a server's replies are recognised before it has clients, and a service has servers
    /// before it is served. When it returns, packets use the new tables; `leave` waits for packets that use the old
    /// ones.
    func enter(
        _ layout: NATLayout, from previous: NATLayout, _ prepared: Prepared
    ) throws(BPFError) -> Entering {
        for vipPort in layout.vipPorts.values {
            for (service, number) in vipPort.services
            where previous.ids.services[service]?.vipPort != vipPort.number {
                let entry = lb_nat_service(service, vipPort: vipPort.number)
                try services.set(UInt32(number), to: entry)
            }
        }
        var new: [(key: UInt32, value: lb_nat_server)] = []
        for vipPort in layout.vipPorts.values {
            for (endpoint, server) in vipPort.servers
            where previous.ids.servers[.init(vipPort: vipPort.number, server: endpoint)]?.generation
                != server.generation
            {
                let entry = lb_nat_server(
                    endpoint, generation: server.generation, vipPort: vipPort.number)
                new.append((UInt32(server.number), entry))
            }
        }
        try servers.set(new)
        let known = Set(previous.vipPorts.values.map(\.number))
        let fresh = try exchange(prepared.tables.filter { !known.contains($0.number) })
        let met = try MapExchange.begin(in: endpoints, [(0, prepared.endpoints.shared)])
        let changed = try exchange(prepared.tables.filter { known.contains($0.number) })
        return Entering(exchanges: [fresh, met, changed])
    }

    private func exchange(_ made: [Table]) throws(BPFError) -> MapExchange {
        try MapExchange.begin(in: tables, made.map { ($0.number, $0.shared) })
    }

    /// Removes endpoints, once no packet can be sent to them. When it returns, no packet uses a removed entry: the
    /// kernel makes a change of an array of maps wait for running programs (kernel/bpf/syscall.c,
    /// maybe_wait_bpf_programs).
    ///
    /// - Returns: the active endpoints, and the first failure, if any. Packets use the new layout already, and
    ///   leftovers do no harm, so the change itself has not failed.
    func leave(
        _ previous: NATLayout, for layout: NATLayout, _ prepared: Prepared, after entering: Entering
    ) -> (endpoints: Table, failure: BPFError?) {
        var failure: BPFError?
        func step(_ body: () throws(BPFError) -> Void) {
            do throws(BPFError) { try body() } catch { failure = failure ?? error }
        }
        step { () throws(BPFError) in try entering.wait() }
        let numbers = Set(layout.vipPorts.values.map(\.number))
        let gone = previous.vipPorts.values.map(\.number).filter { !numbers.contains($0) }
        // A removed service belongs to the host again before its last server goes: its packets do not count as drops.
        if !gone.isEmpty { try? settle(layout, prepared) }
        let departed = layout.ids.departed(from: previous.ids).map {
            (key: UInt32($1.number), value: lb_nat_server(departed: $0, $1))
        }
        step { () throws(BPFError) in try servers.set(departed) }
        for (service, entry) in layout.ids.servicesLeft(by: previous.ids) {
            step { () throws(BPFError) in try leave(service, entry) }
        }
        for number in gone { step { () throws(BPFError) in try tables.map.remove(number) } }
        var endpoints = prepared.endpoints
        step { () throws(BPFError) in
            try settle(layout, prepared)
            endpoints = prepared.last
        }
        return (endpoints, failure)
    }

    /// Removes all endpoints but those that stay, and waits.
    private func settle(_ layout: NATLayout, _ prepared: Prepared) throws(BPFError) {
        let entries = layout.endpoints + layout.lateEndpoints
        guard let bytes = EndpointTable.bytes(entries, places: capacity.places) else {
            throw BPFError(
                operation: "lay out", subject: "\(entries.count) endpoints", errno: E2BIG)
        }
        try prepared.last.fill(bytes)
        try settle(prepared.last)
    }

    /// Rolls back `enter` as far as another program could notice it.
    func withdraw(_ layout: NATLayout, to previous: NATLayout) {
        for (seat, entry) in previous.ids.departed(from: layout.ids) {
            try? servers.set(UInt32(entry.number), to: lb_nat_server(departed: seat, entry))
        }
        for (service, entry) in previous.ids.servicesLeft(by: layout.ids) {
            try? leave(service, entry)
        }
    }

    /// The next reader of the maps may assign its number and its VIP port to others.
    private func leave(_ service: Service, _ entry: IDAllocator.ServiceEntry) throws(BPFError) {
        let left = lb_nat_service(service, vipPort: LB_NAT_SERVICE_LEFT)
        try services.set(UInt32(entry.number), to: left)
    }

    /// Waits until no packet is in the program.
    ///
    /// - Parameter table: the active endpoints.
    func settle(_ table: Table) throws(BPFError) {
        try endpoints.map.set(UInt32(0), to: table.shared.map.descriptor)
    }
}
