// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// The constants of a program and the sizes of its maps. They are fixed when it is loaded.
struct NATCapacity: Equatable, Sendable {
    /// Receivers and slots of each table.
    var receivers: Int
    var slots: Int
    /// Places of the table of endpoints, a power of two.
    var places: Int
    /// The longest payload of a client's datagram, in bytes.
    var packetMax: Int
    var isRouted: Bool
    var takesTCP: Bool
    /// The sizes of the maps of associations.
    var memory: Memory

    /// The sizes of the maps of associations. Associations outlive a program only if the next one has the same sizes.
    struct Memory: Equatable, Sendable {
        /// A power of two.
        var associations: Int
        /// Whether unanswered associations have maps of their own.
        var keepsUnansweredApart: Bool
        /// A family that is not served takes no memory.
        var servesV4: Bool
        var servesV6: Bool

        /// Clients without a reply yet: an eighth of the others, and not more than fit into a processor's caches,
        /// since a flood fills them.
        var unanswered: Int { keepsUnansweredApart ? min(max(associations / 8, 1024), 32768) : 1 }

        /// How often servers may start an association where a client can send with a server's address: it takes five
        /// minutes to fill the maps, the time for which a NAT should remember a silent client (RFC 4787, REQ-5).
        var nanosecondsPerServersAssociation: UInt64 { 300_000_000_000 / UInt64(associations) }
    }

    /// The size of the route cache of a routed program: a power of two.
    static let ways = 4096

    /// - Parameters:
    ///   - endpoints: the number of the listeners' endpoints.
    ///   - families: the families of the services and servers.
    init(for listeners: [Listener], endpoints: Int, families: Set<IPAddress.Family>) {
        let most = listeners.map { max($0.settings.maxDownstream, $0.downstreams.count) }
        receivers = most.max() ?? 1
        slots = MaglevTable.size(capacity: receivers)
        places = .powerOfTwo(atLeast: max(1024, 16 * endpoints))
        packetMax = listeners.map(\.settings.maxPacketSize).max() ?? 65535
        isRouted = listeners.contains { !$0.nat.isOneArm }
        takesTCP = listeners.contains { $0.nat.transport != .udp }
        memory = Memory(
            associations: .powerOfTwo(atLeast: listeners.map(\.nat.maxAssociations).max() ?? 1),
            keepsUnansweredApart: listeners.allSatisfy(\.nat.keepsUnansweredApart),
            servesV4: families.contains(.v4), servesV6: families.contains(.v6))
    }

    /// Whether a program of this capacity is enough for `other`.
    func covers(_ other: NATCapacity) -> Bool {
        receivers >= other.receivers && slots >= other.slots && places >= other.places
            && packetMax == other.packetMax && isRouted == other.isRouted
            && (takesTCP || !other.takesTCP) && memory == other.memory
    }

    /// Enough for both, so that a size never shrinks.
    func joined(with other: NATCapacity?) -> NATCapacity {
        guard let other else { return self }
        var result = self
        result.receivers = max(receivers, other.receivers)
        result.slots = max(slots, other.slots)
        result.places = max(places, other.places)
        return result
    }

    var room: TableRoom { TableRoom(receivers: receivers, slots: slots) }
}
