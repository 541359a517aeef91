// SPDX-License-Identifier: Apache-2.0

@testable import BPFRuntime
import CDatapath
import CLibBPF
import FanoutCore
import Glibc
import KernelPrograms
import LabNet
import Testing

/// The program of xdp_nat.bpf.c with services and servers that a test adds. It is attached to no interface.
final class NATFixture {
    /// Constants and sizes, as the loader sets them.
    struct Settings {
        var isRouted = false
        var takesTCP = false
        /// The program for packets in the network stack, instead of the driver's.
        var isInStack = false
        /// Whether unanswered associations have a map of their own.
        var waits = true
        var packetMax: UInt32 = 65535
        var associations: Int = 1024
        var unanswered: Int = 1024
        /// How long a route lookup stays cached, in kernel ticks; 0: no cache.
        var wayTicks: UInt32 = 250
        /// The interface that leads to the servers, if it is not that of the clients.
        var from: UInt32 = 0
        /// The link bits of every interface of the namespace (enum lb_nat_link).
        var link =
            LB_NAT_LINK_TRANSMITS.rawValue | LB_NAT_LINK_TRANSMITS_PIECES.rawValue
            | LB_NAT_LINK_TX.rawValue
    }

    /// A service or server of a listener, by its number.
    struct Party {
        var endpoint: Endpoint
        var protocolNumber: UInt8
        var listener: UInt32
        /// Of a server; 0 when it is gone.
        var generation: UInt32 = 0
    }

    static let places = 1024
    static let ways = 64

    private let object: BPFObject
    let program: BPFProgram
    private var tables: [Int32] = []
    private(set) var services: [Party] = []
    private(set) var servers: [Party] = []
    private var hosts: [IPAddress] = []
    private var lastGeneration: UInt32 = 0
    private var routes: UInt32 = 0
    private let from: UInt32
    var hooked = [lb_nat_hook](repeating: lb_nat_hook(), count: Int(LB_NAT_HOOKS))

    init(_ settings: Settings = Settings()) throws {
        from = settings.from
        var object = try BPFObject(opening: .xdpNAT)
        try object.set("lb_nat_routed", to: UInt8(settings.isRouted ? 1 : 0))
        try object.set("lb_nat_tcp", to: UInt8(settings.takesTCP ? 1 : 0))
        try object.set("lb_nat_waits", to: UInt8(settings.waits ? 1 : 0))
        try object.set("lb_nat_packet_max", to: settings.packetMax)
        try object.set("lb_nat_way_ticks", to: settings.wayTicks)
        let begins = UInt64(300_000_000_000 / settings.associations)
        try object.set("lb_nat_begin_ns", to: begins)
        try object.set("lb_nat_ways", to: UInt32(Self.ways))
        try object.size("ways", entries: Self.ways)
        for family in ["4", "6"] {
            try object.size("associations" + family, entries: settings.associations)
            try object.size("unanswered" + family, entries: settings.unanswered)
        }
        try object.load()
        program = try object.program(named: settings.isInStack ? "xdp_nat_skb" : "xdp_nat")
        self.object = object
        try hook(Self.loopback)
        if settings.isRouted { try know(settings.link) }
    }

    /// Sets the same bits for every interface.
    private func know(_ link: UInt32) throws {
        guard let all = if_nameindex() else { throw Failed("if_nameindex") }
        defer { if_freenameindex(all) }
        var next = all
        while next.pointee.if_index != 0 {
            try update("links", next.pointee.if_index, link)
            next += 1
        }
    }

    deinit { for table in tables { close(table) } }

    /// Makes a listener serve its services, and balance over its servers in their order.
    func listen(
        _ listener: UInt32 = 0, on services: [String], servers: [String],
        _ balance: Balance = .roundRobin, protocolNumber: UInt8 = 17
    ) throws {
        let first = self.servers.count
        for text in services {
            let party = Party(
                endpoint: try Endpoint(parsing: text), protocolNumber: protocolNumber,
                listener: listener)
            try update("services", UInt32(self.services.count), Self.service(party))
            self.services.append(party)
        }
        for text in servers {
            let party = Party(
                endpoint: try Endpoint(parsing: text), protocolNumber: protocolNumber,
                listener: listener)
            self.servers.append(party)
            try revive(self.servers.count - 1)
        }
        try fill(listener, balance, Array(first..<self.servers.count))
        try publish()
    }

    /// Tells the program that routes, neighbours or links have changed.
    func changeRoutes() throws {
        routes += 2
        try update("routes", 0, routes)
    }

    /// Tells the program that routes depend on more than the destination.
    func routeByFlow() throws {
        routes |= UInt32(LB_NAT_BY_FLOW)
        try update("routes", 0, routes)
    }

    /// Tells the program that an address is the host's own.
    func own(_ address: String) throws {
        hosts.append(try .parsed(address))
        try publish()
    }

    /// Removes a server as the daemon does: from the table, then its generation.
    func remove(_ number: Int, _ balance: Balance = .roundRobin) throws {
        servers[number].generation = 0
        let listener = servers[number].listener
        let left = servers.indices.filter {
            servers[$0].listener == listener && servers[$0].generation != 0
        }
        try fill(listener, balance, left)
        try update("servers", UInt32(number), server(number))
        try publish()
    }

    /// Adds a server again, with a new generation; the table stays as it is.
    func revive(_ number: Int) throws {
        lastGeneration += 1
        servers[number].generation = lastGeneration
        try update("servers", UInt32(number), server(number))
        try publish()
    }

    /// Gives a listener a table of only these servers.
    func fill(_ listener: UInt32, _ balance: Balance, _ numbers: [Int]) throws {
        let downstreams = numbers.map {
            Downstream(name: "\($0)", endpoint: servers[$0].endpoint, weight: 1)
        }
        let slots = balance.slotTable(for: downstreams, capacity: 64).slots
        var head = lb_table()
        head.seed_v4 = lb_hash_high(0, 0)
        head.key = (balance == .roundRobin ? LB_KEY_COUNTER : LB_KEY_SOURCE_IP).rawValue
        head.slots = UInt32(slots.count)
        var value = withUnsafeBytes(of: head) { Array($0) }
        for index in 0..<64 {
            var receiver = lb_receiver()
            if index < numbers.count { receiver.row = UInt32(numbers[index]) }
            value += withUnsafeBytes(of: receiver) { Array($0) }
        }
        value += slots.withUnsafeBytes { Array($0) }
        value += [UInt8](repeating: 0, count: (Int(LB_SLOTS_MIN) - slots.count) * 2)
        try put(value, into: "tables", at: listener)
    }

    /// Replaces the table of endpoints.
    private func publish() throws {
        var places = [lb_nat_endpoint](repeating: lb_nat_endpoint(), count: Self.places)
        for (number, party) in services.enumerated() {
            add(party, LB_NAT_SERVICE, number, to: &places)
        }
        for (number, party) in servers.enumerated() where party.generation != 0 {
            add(party, LB_NAT_SERVER, number, to: &places)
        }
        for address in hosts {
            add(Endpoint(address, port: 0), 0, LB_NAT_HOST, 0, 0, to: &places)
        }
        try put(places.withUnsafeBytes { Array($0) }, into: "endpoints", at: 0)
    }

    private func add(
        _ party: Party, _ role: lb_nat_role, _ number: Int, to places: inout [lb_nat_endpoint]
    ) {
        add(party.endpoint, party.protocolNumber, role, number, party.listener, to: &places)
        add(Endpoint(party.endpoint.address, port: 0), 0, role, 0, 0, to: &places)
    }

    private func add(
        _ endpoint: Endpoint, _ protocolNumber: UInt8, _ role: lb_nat_role, _ number: Int,
        _ listener: UInt32, to places: inout [lb_nat_endpoint]
    ) {
        let address = endpoint.address.datapath
        var place = Int(
            lb_nat_place(address, endpoint.port, protocolNumber, UInt32(places.count)))
        while places[place].roles != 0 {
            let known = places[place]
            if known.address.high == address.high, known.address.low == address.low,
                known.port == endpoint.port, known.protocol == protocolNumber
            {
                break
            }
            place = (place + 1) % places.count
        }
        places[place].address = address
        places[place].port = endpoint.port
        places[place].protocol = protocolNumber
        places[place].roles |= UInt8(role.rawValue)
        places[place].number = UInt16(number)
        places[place].listener = UInt16(listener)
        if role == LB_NAT_SERVER, endpoint.port != 0 {
            places[place].generation = UInt16(servers[number].generation)
            places[place].service = UInt16(service(of: servers[number]))
            places[place].from = from
        }
    }

    private static func service(_ party: Party) -> lb_nat_service {
        lb_nat_service(
            address: party.endpoint.address.datapath, listener: party.listener,
            port: party.endpoint.port, protocol: party.protocolNumber,
            is_v6: party.endpoint.address.family == .v6 ? 1 : 0)
    }

    private func server(_ number: Int) -> lb_nat_server {
        let party = servers[number]
        return lb_nat_server(
            address: party.endpoint.address.datapath, generation: party.generation,
            listener: party.listener, reserved: 0, port: party.endpoint.port,
            protocol: party.protocolNumber, is_v6: party.endpoint.address.family == .v6 ? 1 : 0)
    }

    /// The service whose address a server's packets get when the server sends first.
    private func service(of party: Party) -> Int {
        services.firstIndex {
            $0.listener == party.listener && $0.protocolNumber == party.protocolNumber
        } ?? 0
    }

    // MARK: Maps

    func descriptor(_ map: String) -> Int32 { bpf_object__find_map_fd_by_name(object.handle, map) }

    private func update(_ map: String, _ key: UInt32, _ value: some Any) throws {
        var key = key
        try withUnsafeBytes(of: value) { value in
            try #require(bpf_map_update_elem(descriptor(map), &key, value.baseAddress, 0) == 0)
        }
    }

    /// Puts a new map with one value into a map of maps.
    private func put(_ value: [UInt8], into map: String, at key: UInt32) throws {
        let table = bpf_map_create(BPF_MAP_TYPE_ARRAY, "table", 4, UInt32(value.count), 1, nil)
        try #require(table >= 0)
        tables.append(table)
        var zero: UInt32 = 0
        try #require(bpf_map_update_elem(table, &zero, value, 0) == 0)
        try update(map, key, table)
    }
}
