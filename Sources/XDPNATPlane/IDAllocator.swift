// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore

/// Assigns the numbers of services and servers in the kernel. Associations refer to them by number and outlive the
/// daemon, so a number is reused as late as possible, and never with a generation that it has had.
struct IDAllocator: Equatable, Sendable {
    struct Seat: Hashable, Sendable {
        /// The number of the VIP port.
        let vipPort: UInt32
        let server: Endpoint
    }

    struct ServerEntry: Hashable, Sendable {
        let number: UInt16
        let generation: UInt32
    }

    struct ServiceEntry: Equatable, Sendable {
        let number: UInt16
        let vipPort: UInt32
    }

    private(set) var services: [Service: ServiceEntry] = [:]
    private(set) var servers: [Seat: ServerEntry] = [:]
    /// The first is assigned next.
    private var freeVIPPorts: [UInt32]
    private var freeServices: [UInt16]
    private var freeServers: [UInt16]
    /// The last generation of each number that has had one.
    private var generations: [UInt16: UInt32] = [:]

    /// Generations are 1 to this (lb/nat.h).
    private static let generationsMax = UInt32(LB_GENERATIONS)

    init() {
        freeVIPPorts = Array(0..<UInt32(LB_LISTENERS_MAX))
        freeServices = Array(0..<UInt16(LB_SERVICES_MAX))
        freeServers = Array(0..<UInt16(LB_SERVERS_MAX))
    }

    /// Reads the numbers that an old daemon has left in the maps.
    ///
    /// - Parameters:
    ///   - services: their VIP ports, by number; removed ones have none.
    ///   - servers: the existing ones, by number.
    ///   - departed: the last generations of the removed ones, by number.
    init(
        services: [UInt16: (Service, vipPort: UInt32?)],
        servers: [UInt16: (Seat, generation: UInt32)], departed: [UInt16: UInt32]
    ) {
        self.init()
        for (number, (service, vipPort)) in services {
            guard let vipPort else { continue }
            self.services[service] = ServiceEntry(number: number, vipPort: vipPort)
        }
        for (number, (seat, generation)) in servers {
            self.servers[seat] = ServerEntry(number: number, generation: generation)
            generations[number] = generation
        }
        generations.merge(departed) { $1 }
        freeServices.removeAll { services[$0] != nil }
        freeServices += services.filter { $0.value.vipPort == nil }.keys.sorted()
        freeServers.removeAll { servers[$0] != nil }
        let vipPorts = Set(services.values.compactMap(\.vipPort))
        freeVIPPorts.removeAll(where: vipPorts.contains)
    }

    /// An empty allocator with the same free numbers.
    var emptied: IDAllocator {
        var result = self
        (result.services, result.servers) = ([:], [:])
        return result
    }

    mutating func newVIPPort() -> UInt32? {
        freeVIPPorts.isEmpty ? nil : freeVIPPorts.removeFirst()
    }

    mutating func enter(_ service: Service, vipPort: UInt32, previous: IDAllocator)
        -> UInt16?
    {
        if let known = services[service] { return known.vipPort == vipPort ? known.number : nil }
        let number: UInt16
        if let entry = previous.services[service] {
            number = entry.number
        } else if !freeServices.isEmpty {
            number = freeServices.removeFirst()
        } else {
            return nil
        }
        services[service] = ServiceEntry(number: number, vipPort: vipPort)
        return number
    }

    mutating func enter(_ seat: Seat, previous: IDAllocator) -> ServerEntry? {
        if let entry = previous.servers[seat] {
            servers[seat] = entry
            return entry
        }
        // A number that has had every generation is retired.
        while !freeServers.isEmpty {
            let number = freeServers.removeFirst()
            let generation = (generations[number] ?? 0) + 1
            guard generation <= Self.generationsMax else { continue }
            generations[number] = generation
            let entry = ServerEntry(number: number, generation: generation)
            servers[seat] = entry
            return entry
        }
        return nil
    }

    /// Servers of `previous` that are removed or replaced here.
    func departed(from previous: IDAllocator) -> [IDAllocator.Seat: IDAllocator.ServerEntry] {
        previous.servers.filter { servers[$0.key] != $0.value }
    }

    /// Services of `previous` that are removed here.
    func servicesLeft(by previous: IDAllocator) -> [Service: IDAllocator.ServiceEntry] {
        previous.services.filter { services[$0.key]?.number != $0.value.number }
    }

    /// Frees the numbers that only `previous` had, once nothing refers to them.
    mutating func reclaim(from previous: IDAllocator, vipPorts: [UInt32]) {
        freeServers += departed(from: previous).values.map(\.number).sorted()
        freeServices += servicesLeft(by: previous).values.map(\.number).sorted()
        freeVIPPorts += vipPorts.sorted()
    }

    /// Adopts the numbers that another process has written to the kernel meanwhile. Endpoints of this process get the
    /// number that they have there, if any; no generation is assigned twice.
    ///
    /// - Parameter fronts: the VIP ports in use here.
    mutating func follow(_ found: IDAllocator, keeping vipPorts: Set<UInt32>) {
        let previous = self
        self = found
        burn(previous)
        freeVIPPorts.removeAll(where: vipPorts.contains)
    }

    /// Retires the generations that `other` assigned, although it was not applied.
    mutating func burn(_ other: IDAllocator) {
        generations.merge(other.generations) { max($0, $1) }
    }
}

extension IDAllocator {
    /// All services ever written, with their VIP ports, by number; removed ones have none.
    static func services(
        of memory: PinnedMaps
    ) throws(BPFError) -> [UInt16: (Service, vipPort: UInt32?)] {
        var services: [UInt16: (Service, vipPort: UInt32?)] = [:]
        try memory.read("services") { map throws(BPFError) in
            for index in 0..<UInt16(clamping: map.entries) {
                guard let bytes = try map.value(of: UInt32(index)) else { continue }
                let entry = bytes.read(lb_nat_service.self)
                guard entry.port != 0 else { continue }
                let address = IPAddress(high: entry.address.high, low: entry.address.low)
                let service = Service(
                    address: address, port: entry.port, transport: entry.protocol)
                let hasLeft = entry.listener == LB_NAT_SERVICE_LEFT
                services[index] = (service, hasLeft ? nil : entry.listener)
            }
        }
        return services
    }

    /// Reads the numbers that an old process wrote to its maps.
    init(of memory: PinnedMaps) throws(BPFError) {
        var servers: [UInt16: (Seat, generation: UInt32)] = [:]
        var departed: [UInt16: UInt32] = [:]
        try memory.read("servers") { map throws(BPFError) in
            for index in 0..<UInt16(clamping: map.entries) {
                guard let bytes = try map.value(of: UInt32(index)) else { continue }
                let entry = bytes.read(lb_nat_server.self)
                if entry.generation == 0 {
                    if entry.lastGeneration != 0 { departed[index] = entry.lastGeneration }
                    continue
                }
                let endpoint = Endpoint(
                    IPAddress(high: entry.address.high, low: entry.address.low), port: entry.port)
                servers[index] = (Seat(vipPort: entry.listener, server: endpoint), entry.generation)
            }
        }
        self.init(
            services: try Self.services(of: memory), servers: servers, departed: departed)
    }
}
