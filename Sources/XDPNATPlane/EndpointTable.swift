// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc

/// A service, a server or the host itself, as packets look it up.
struct EndpointEntry: Sendable {
    let address: IPAddress
    let port: UInt16
    let transport: UInt8
    var role: lb_nat_role
    var number: UInt16 = 0
    var vipPort: UInt32 = 0
    var generation: UInt32 = 0
    var service: UInt16 = 0
    /// For a server: the only interface of its packets; 0 if it also has clients.
    var from: UInt32 = 0

    init(_ service: Service, _ number: UInt16, _ vipPort: UInt32) {
        (address, port, transport) = (service.address, service.port, service.transport)
        role = LB_NAT_SERVICE
        (self.number, self.vipPort) = (number, vipPort)
    }

    /// - Parameter clients: the interfaces of clients.
    init(
        _ server: Endpoint, _ transport: UInt8, _ entry: VIPPort.Server, _ vipPort: UInt32,
        clients: Set<UInt32>
    ) {
        (address, port, self.transport) = (server.address, server.port, transport)
        role = LB_NAT_SERVER
        (number, generation, service) = (entry.number, entry.generation, entry.service)
        self.vipPort = vipPort
        if let interface = entry.interface, !clients.contains(interface) { from = interface }
    }

    /// A removed server.
    init(
        left server: Endpoint, _ transport: UInt8, _ entry: IDAllocator.ServerEntry,
        _ vipPort: UInt32
    ) {
        (address, port, self.transport) = (server.address, server.port, transport)
        role = LB_NAT_LEFT
        (number, generation) = (entry.number, entry.generation)
        self.vipPort = vipPort
    }

    init(host: IPAddress) {
        (address, port, transport) = (host, 0, 0)
        role = LB_NAT_HOST
    }
}

/// The table of endpoints as bytes, in the layout of lb/nat.h.
enum EndpointTable {
    /// - Parameters:
    ///   - entries: removed servers after the others, since they are left out where places are scarce.
    ///   - places: a power of two.
    /// - Returns: nil when an endpoint finds no place near enough to its own.
    static func bytes(_ entries: [EndpointEntry], places count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count * MemoryLayout<lb_nat_endpoint>.stride)
        // SAFETY: an array's storage is aligned for any C structure; there are that many, all of zeros, and
        // the pointer is not kept.
        let fits = unsafe bytes.withUnsafeMutableBytes { raw in
            let places = unsafe raw.bindMemory(to: lb_nat_endpoint.self)
            return entries.allSatisfy { entry in
                let isIn =
                    unsafe put(entry, entry.port, entry.transport, into: places)
                    && (entry.port == 0 || put(entry, 0, 0, into: places))
                return isIn || entry.role == LB_NAT_LEFT
            }
        }
        return fits ? bytes : nil
    }

    /// The number of places at which all endpoints are near enough to their own.
    static func places(
        for entries: [EndpointEntry], atLeast least: Int
    ) throws(BPFError) -> Int {
        var places = least
        while bytes(entries, places: places) == nil {
            places *= 2
            guard places <= most else {
                throw BPFError(
                    operation: "lay out", subject: "\(entries.count) endpoints", errno: E2BIG)
            }
        }
        return places
    }

    /// 32 MiB of memory.
    private static let most = 1 << 20

    /// Adds a role to an existing endpoint. The first role keeps the number, unless the later one has precedence.
    private static func put(
        _ entry: EndpointEntry, _ port: UInt16, _ transport: UInt8,
        into places: UnsafeMutableBufferPointer<lb_nat_endpoint>
    ) -> Bool {
        let address = entry.address.datapath
        let first = Int(lb_nat_place(address, port, transport, UInt32(places.count)))
        for step in 0..<Int(LB_NAT_PROBES) {
            // SAFETY: the index is below the count, which is a power of two.
            let index = (first + step) & (places.count - 1)
            let known = unsafe places[index]
            let isFree = known.roles == 0
            guard
                isFree
                    || (known.address.high == address.high && known.address.low == address.low
                        && known.port == port && known.protocol == transport)
            else { continue }
            unsafe places[index].roles |= UInt8(entry.role.rawValue)
            let precedes = entry.role == LB_NAT_SERVICE && known.roles & 1 == 0
            if isFree || precedes { unsafe places[index].set(entry, address, port, transport) }
            return true
        }
        return false
    }
}

extension lb_nat_endpoint {
    fileprivate mutating func set(
        _ entry: EndpointEntry, _ address: lb_addr, _ port: UInt16, _ transport: UInt8
    ) {
        self.address = address
        self.port = port
        self.protocol = transport
        guard port != 0 else { return }
        number = entry.number
        listener = UInt16(entry.vipPort)
        generation = UInt16(truncatingIfNeeded: entry.generation)
        service = entry.service
        from = entry.from
    }
}

extension lb_nat_service {
    init(_ service: Service, vipPort: UInt32) {
        self.init(
            address: service.address.datapath, listener: vipPort, port: service.port,
            protocol: service.transport, is_v6: service.address.family == .v6 ? 1 : 0)
    }
}

extension lb_nat_server {
    init(_ server: Endpoint, generation: UInt32, vipPort: UInt32) {
        self.init()
        address = server.address.datapath
        self.generation = generation
        listener = vipPort
        port = server.port
        self.protocol = NATTransport.udp.numbers[0]
        is_v6 = server.address.family == .v6 ? 1 : 0
    }

    /// For a removed server: no generation, and the last one of its number.
    ///
    /// The rest is unchanged. The kernel copies a value piece by piece while programs read it: a packet may read the
    /// previous generation and then the new address.
    init(departed seat: IDAllocator.Seat, _ entry: IDAllocator.ServerEntry) {
        self.init(seat.server, generation: 0, vipPort: seat.vipPort)
        reserved = entry.generation
    }

    /// For a removed server.
    var lastGeneration: UInt32 { reserved }
}
