// SPDX-License-Identifier: Apache-2.0

public import BPFRuntime
internal import CDatapath
public import FanoutCore
internal import Glibc
internal import KernelForwarding

/// Reads and deletes the associations of a program of this mode from outside, also without a running daemon.
public struct NATInspection: Sendable {
    /// The interfaces of the program.
    public let interfaces: [String]
    private let memory: PinnedMaps

    /// The attached programs in the network namespace of the calling thread, by their interfaces.
    ///
    /// - Parameter root: the BPF file system of their pins.
    /// - Throws: `PlaneError` when the interfaces cannot be listed, or the caller lacks the privilege.
    public static func all(
        root: String = PinFolder.usualRoot
    ) throws(PlaneError) -> [NATInspection] {
        let links: [NetworkLink]
        do throws(NetlinkError) {
            var netlink = try Netlink()
            links = try netlink.links()
        } catch {
            throw PlaneError(looking: error)
        }
        let found: [(maps: PinnedMaps, interfaces: [String])]
        do throws(BPFError) {
            found = try NATProgram.pins.maps(
                root: root, interfaces: links.map { HostInterface(index: $0.index, name: $0.name) })
        } catch {
            throw PlaneError(error)
        }
        return found.map { NATInspection(interfaces: $0.interfaces.sorted(), memory: $0.maps) }
            .sorted { $0.interfaces.lexicographicallyPrecedes($1.interfaces) }
    }

    /// A filter of associations; all when nothing is set.
    public struct Filter: Sendable {
        public var client: IPAddress?
        public var clientPort: UInt16?
        public var server: IPAddress?
        public var serverPort: UInt16?

        public init() {}

        public var isEmpty: Bool {
            client == nil && clientPort == nil && server == nil && serverPort == nil
        }

        func takes(_ association: Association) -> Bool {
            (client == nil || client == association.client.address)
                && (clientPort == nil || clientPort == association.client.port)
                && (server == nil || server == association.server?.address)
                && (serverPort == nil || serverPort == association.server?.port)
        }
    }

    /// Visits every association that matches the filter, in no order. Reading does not refresh them.
    public func each(_ filter: Filter, _ visit: (Association) -> Void) throws(PlaneError) {
        do throws(BPFError) {
            let ids = try NumberAllocator(memory)
            for place in Self.places {
                try walk(place, ids) { _, association in
                    if filter.takes(association) { visit(association) }
                }
            }
        } catch {
            throw PlaneError(error)
        }
    }

    /// Deletes the associations that match the filter: the next packet of such a client chooses a server again.
    ///
    /// - Returns: the number of deleted ones.
    public func drop(_ filter: Filter) throws(PlaneError) -> Int {
        do throws(BPFError) {
            let ids = try NumberAllocator(memory)
            var dropped = 0
            for place in Self.places {
                var keys: [[UInt8]] = []
                try walk(place, ids) { key, association in
                    if filter.takes(association) { keys.append(key) }
                }
                try memory.read(place.map) { map throws(BPFError) in
                    for key in keys { try map.remove(bytes: key) }
                }
                dropped += keys.count
            }
            return dropped
        } catch {
            throw PlaneError(error)
        }
    }

    private struct Place {
        let map: String
        let isV6: Bool
        let isAnswered: Bool
    }

    private static let places = [
        Place(map: "associations4", isV6: false, isAnswered: true),
        Place(map: "unanswered4", isV6: false, isAnswered: false),
        Place(map: "associations6", isV6: true, isAnswered: true),
        Place(map: "unanswered6", isV6: true, isAnswered: false),
    ]

    private func walk(
        _ place: Place, _ ids: NumberAllocator, _ visit: ([UInt8], Association) -> Void
    ) throws(BPFError) {
        var time = timespec()
        // SAFETY: the kernel fills in the structure.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let now = UInt64(time.tv_sec)
        try memory.read(place.map) { map throws(BPFError) in
            try map.walk { key, value in
                let record = AssociationRecord(key: key, value: value, isV6: place.isV6, now: now)
                let server = ids.servers[record.server]
                let association = Association(
                    client: record.client, transport: record.transport,
                    server: server?.generation == record.generation ? server?.endpoint : nil,
                    service: ids.services[record.service], isAnswered: place.isAnswered,
                    ageSeconds: record.ageSeconds)
                visit(key, association)
            }
        }
    }
}

/// The endpoints by number in the maps of a program.
struct NumberAllocator {
    private(set) var services: [UInt16: Endpoint] = [:]
    private(set) var servers: [UInt16: (endpoint: Endpoint, generation: UInt32)] = [:]

    init(_ memory: PinnedMaps) throws(BPFError) {
        services = try IDAllocator.services(of: memory).mapValues { service, _ in
            Endpoint(service.address, port: service.port)
        }
        for (seat, entry) in try IDAllocator(of: memory).servers {
            servers[entry.number] = (seat.server, entry.generation)
        }
    }
}

/// A client and its server.
public struct Association: Equatable, Sendable {
    public let client: Endpoint
    public let transport: NATTransport
    /// nil when the server is removed: the client's next packet gets another one.
    public let server: Endpoint?
    /// The virtual address that replies come from.
    public let service: Endpoint?
    /// Whether the server has replied, or sent first.
    public let isAnswered: Bool
    /// The age in whole seconds.
    public let ageSeconds: Int
}

/// An entry of a map of associations, in the kernel's layout (lb/nat.h).
struct AssociationRecord {
    let client: Endpoint
    let transport: NATTransport
    let vipPort: UInt32
    let server: UInt16
    let generation: UInt32
    let service: UInt16
    let ageSeconds: Int

    /// - Parameter now: CLOCK_MONOTONIC in seconds.
    init(key: [UInt8], value: [UInt8], isV6: Bool, now: UInt64) {
        var client = lb_nat_client()
        let words = key.words(of: UInt64.self)
        client.words = isV6 ? (words[0], words[1], words[2]) : (words[0], 0, 0)
        // SAFETY: the functions read the one value behind the pointer before they return.
        let address = unsafe lb_nat_client_address(&client, isV6 ? 1 : 0)
        let rest = unsafe lb_nat_client_rest(&client, isV6 ? 1 : 0)
        self.client = Endpoint(
            IPAddress(high: address.high, low: address.low), port: UInt16(truncatingIfNeeded: rest))
        transport = UInt8(truncatingIfNeeded: rest >> 16) == 6 ? .tcp : .udp
        vipPort = rest >> 24
        let association = value.read(lb_nat_association.self)
        server = UInt16(lb_nat_server_of(association.word))
        generation = lb_nat_generation_of(association.word)
        service = UInt16(lb_nat_service_of(association.word))
        ageSeconds = Int(lb_nat_age_of(association.word, now))
    }
}
