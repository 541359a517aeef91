// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// The content of the maps of a program. A value: the next layout is computed beside the active one.
struct NATLayout: Sendable {
    var capacity: NATCapacity
    private(set) var vipPorts: [VIPPort.Name: VIPPort] = [:]
    private(set) var ids: IDAllocator
    /// The endpoints that packets are looked up by.
    private(set) var endpoints: [EndpointEntry] = []
    /// After these, the removed servers.
    var lateEndpoints: [EndpointEntry] = []
    var left = DepartedServers()

    /// Empty, apart from the known numbers.
    init(capacity: NATCapacity, ids: IDAllocator = IDAllocator()) {
        self.capacity = capacity
        self.ids = ids
    }

    /// The layout for other listeners. Endpoints that stay keep their numbers; released ones are free only after
    /// `reclaim`, when nothing refers to them any more.
    ///
    /// - Returns: nil when there is no room.
    func next(for listeners: [Listener], on network: NetworkView, _ capacity: NATCapacity)
        -> NATLayout?
    {
        var next = NATLayout(capacity: capacity, ids: ids.emptied)
        var taken = Set<UInt32>()
        for listener in listeners {
            guard listener.downstreams.count <= capacity.receivers else { return nil }
            for port in listener.ports {
                let name = VIPPort.Name(listener: listener.name, port: port)
                let services = Self.services(of: listener, port: port, on: network)
                let previous =
                    vipPorts[name]?.number
                    ?? services.lazy.compactMap { ids.services[$0]?.vipPort }
                    .first { number in !taken.contains(number) && !isNamed(number, listeners) }
                guard let number = previous ?? next.ids.newVIPPort() else { return nil }
                taken.insert(number)
                var vipPort = VIPPort(number: number)
                guard next.fill(&vipPort, services, listener, port, on: network, previous: ids)
                else { return nil }
                next.vipPorts[name] = vipPort
            }
        }
        let onHost =
            network.interfaces.flatMap(\.addresses)
            + listeners.flatMap { listener in
                listener.downstreams.map(\.endpoint.address).filter(network.isLocal)
            }
        let clients = Set(
            listeners.compactMap { network.interface(named: $0.interface)?.index })
        next.endpoints = next.entries(listeners, hosts: onHost, clients: clients)
        return next
    }

    /// Whether a listener of this name has that number.
    private func isNamed(_ number: UInt32, _ listeners: [Listener]) -> Bool {
        let names = Set(
            listeners.flatMap { listener in
                listener.ports.map { VIPPort.Name(listener: listener.name, port: $0) }
            })
        return vipPorts.contains { $0.value.number == number && names.contains($0.key) }
    }

    private static func services(
        of listener: Listener, port: UInt16, on network: NetworkView
    ) -> [Service] {
        guard let interface = network.interface(named: listener.interface) else { return [] }
        var seen = Set<IPAddress>()
        let addresses = ServedDestination.all(of: listener, on: interface).compactMap(\.address)
            .filter { seen.insert($0).inserted }
        return addresses.flatMap { address in
            listener.nat.transport.numbers.map {
                Service(address: address, port: port, transport: $0)
            }
        }
    }

    private mutating func fill(
        _ vipPort: inout VIPPort, _ services: [Service], _ listener: Listener, _ port: UInt16,
        on network: NetworkView, previous: IDAllocator
    ) -> Bool {
        for service in services {
            guard let number = ids.enter(service, vipPort: vipPort.number, previous: previous)
            else {
                return false
            }
            vipPort.services[service] = number
        }
        for downstream in listener.servers {
            let endpoint = listener.endpoint(of: downstream, at: port)
            let seat = IDAllocator.Seat(vipPort: vipPort.number, server: endpoint)
            guard let entry = ids.enter(seat, previous: previous) else { return false }
            let first = services.first { $0.address.family == endpoint.address.family }
            vipPort.servers[endpoint] = VIPPort.Server(
                number: entry.number, generation: entry.generation,
                service: first.flatMap { vipPort.services[$0] } ?? 0,
                interface: listener.nat.isOneArm
                    ? nil : network.paths[endpoint.address]?.interface)
        }
        vipPort.table =
            VIPPortTable(
                listener: listener, port: port, vipPort: vipPort, capacity: capacity
            ).bytes
        return true
    }

    private func entries(
        _ listeners: [Listener], hosts: [IPAddress], clients: Set<UInt32>
    ) -> [EndpointEntry] {
        var entries: [EndpointEntry] = []
        for listener in listeners {
            for port in listener.ports {
                guard let vipPort = vipPorts[.init(listener: listener.name, port: port)] else {
                    continue
                }
                for (service, number) in vipPort.services {
                    entries.append(.init(service, number, vipPort.number))
                }
                for (endpoint, server) in vipPort.servers {
                    entries += listener.nat.transport.numbers.map {
                        .init(endpoint, $0, server, vipPort.number, clients: clients)
                    }
                }
            }
        }
        return entries + hosts.map(EndpointEntry.init(host:))
    }

    /// The maximum number of endpoints of the listeners.
    static func endpoints(of listeners: [Listener], on network: NetworkView) -> Int {
        listeners.reduce(network.interfaces.reduce(0) { $0 + $1.addresses.count }) {
            sum, listener in
            let services = services(of: listener, port: listener.bind.port, on: network).count
            // With room for more receivers, so that these need no other program.
            let receivers = max(listener.settings.maxDownstream, listener.downstreams.count)
            let servers = receivers * listener.nat.transport.numbers.count
            return sum + 2 * listener.ports.count * (services + servers)
        }
    }

    /// The families of their services and receivers.
    static func families(of listeners: [Listener], on network: NetworkView)
        -> Set<IPAddress.Family>
    {
        Set(
            listeners.flatMap { listener in
                services(of: listener, port: listener.bind.port, on: network).map(\.address.family)
                    + listener.downstreams.map(\.endpoint.address.family)
            })
    }

    // MARK: Removed

    /// The VIP ports of `previous` that are removed here.
    func vipPortsLeft(by previous: NATLayout) -> [(VIPPort.Name, VIPPort)] {
        previous.vipPorts.filter { vipPorts[$0.key]?.number != $0.value.number }.map { ($0, $1) }
    }

    /// Servers of `previous` that are removed here, by VIP port.
    func serversLeft(
        by previous: NATLayout
    ) -> [(vipPort: VIPPort.Name, servers: [(endpoint: Endpoint, number: UInt16)])] {
        previous.vipPorts.map { name, vipPort in
            let now = vipPorts[name]?.servers ?? [:]
            let gone = vipPort.servers.filter { endpoint, server in
                now[endpoint]?.number != server.number
                    || now[endpoint]?.generation != server.generation
            }
            return (name, gone.map { ($0.key, $0.value.number) })
        }
    }

    mutating func reclaim(from previous: NATLayout) {
        let kept = Set(vipPorts.values.map(\.number))
        let left = Set(previous.vipPorts.values.map(\.number))
            .union(previous.ids.services.values.map(\.vipPort)).subtracting(kept)
        ids.reclaim(from: previous.ids, vipPorts: Array(left))
    }

    mutating func burn(_ other: NATLayout) { ids.burn(other.ids) }

    /// Makes the next layout write every table, because the active ones are unknown.
    mutating func forgetTables() { for name in vipPorts.keys { vipPorts[name]?.table = [] } }

    /// Adopts the entries that another process has written meanwhile, for the next layout.
    mutating func follow(_ found: IDAllocator) {
        ids.follow(found, keeping: Set(vipPorts.values.map(\.number)))
    }
}

// The endpoints still have the removed servers for a while.

extension NATLayout {
    /// The endpoints while packets may still use `previous`, so that no reply of a removed server is lost.
    ///
    /// - Parameter isNew: whether the program of these endpoints has no packets that use `previous`.
    func endpoints(beside previous: NATLayout, isNew: Bool) -> [EndpointEntry] {
        var stays = [Bool](repeating: false, count: Int(LB_SERVERS_MAX))
        for server in ids.servers.values { stays[Int(server.number)] = true }
        let vipPorts = Set(vipPorts.values.map(\.number))
        let others = previous.endpoints.compactMap { entry -> EndpointEntry? in
            if isNew, entry.role == LB_NAT_SERVICE { return nil }
            guard entry.role == LB_NAT_SERVER, !stays[Int(entry.number)],
                vipPorts.contains(entry.vipPort)
            else { return entry }
            var late = entry
            late.role = LB_NAT_LEFT
            return late
        }
        return endpoints + others + previous.lateEndpoints
    }

    /// Records the servers that were removed before `previous`, and those removed since.
    ///
    /// - Parameter time: how long they may still answer.
    mutating func rememberLeft(from previous: NATLayout, for time: Duration) {
        let now = ContinuousClock.now
        let transports = Dictionary(
            vipPorts.values.map { ($0.number, Set($0.services.keys.map(\.transport))) },
            uniquingKeysWith: { $0.union($1) })
        let previousVIPPorts = Dictionary(previous.vipPorts.values.map { ($0.number, $0) }) { $1 }
        left = previous.left.kept(at: now, vipPorts: Set(transports.keys))
        left.add(
            ids.departed(from: previous.ids).compactMap { seat, server in
                guard transports[seat.vipPort] != nil else { return nil }
                let interface = previousVIPPorts[seat.vipPort]?.servers[seat.server]?.interface
                return .init(seat: seat, server: server, interface: interface, end: now + time)
            })
        lateEndpoints = left.entries.flatMap { entry in
            transports[entry.seat.vipPort, default: []].map {
                EndpointEntry(left: entry.seat.server, $0, entry.server, entry.seat.vipPort)
            }
        }
    }
}
