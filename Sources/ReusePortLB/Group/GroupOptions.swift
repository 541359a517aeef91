// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CReusePortLB
public import struct FanoutCore.PayloadKey

/// How to open or create a group. The defaults open a group of any kind, or create one that balances by source
/// address.
public struct GroupOptions: Sendable {
    /// An absolute path on a BPF file system, below which the group is pinned; nil:
    /// ``ReusePortGroup/defaultPinRoot``.
    public var pinRoot: String?
    /// The number of members, 1...capacity; nil keeps the group's count, and the group must
    /// exist. The first socket that joins through this value resizes a group with another count, so that a refused
    /// start changes nothing; ``ReusePortGroup/resize(count:)`` does it at once. From N to N+1 about one source in N+1
    /// moves.
    public var count: Int?
    /// What the group balances by; nil: the group's key, or the source address for a new group.
    public var key: ReusePortGroup.Key?
    /// Mixed into the hash. Hosts with the same seed and count choose alike. nil: the group's seed, or 0 for a new
    /// group.
    public var seed: UInt64?
    /// The slots of a new group, 1...``ReusePortGroup/maximumCapacity``; nil: the group's, or
    /// ``ReusePortGroup/defaultCapacity`` for a new group.
    public var capacity: Int?
    /// How many flows a new group remembers, up to 1 048 576: a flow stays with its member as long as that is in its
    /// slot, also when the count changes; a flow whose member has gone stays with its fallback. A flow is what the key
    /// hashes, such as a source address. The kernel forgets those that were idle longest. nil: the group's, or none for
    /// a new group.
    public var flows: Int?
    /// The owner of a new group's pins, who may open it; nil: the caller's uid and group.
    public var owner: UInt32?
    public var ownerGroup: UInt32?
    /// The permissions of a new group's pins; nil: 0600.
    public var mode: UInt32?
    /// Never create a group: fail with ``ReusePortError/Code/notFound`` when there is none.
    public var existingOnly = false
    /// Without the privilege to create the group, choose by source address with a classic BPF program, and report it to
    /// ``log`` as an error. The sockets on the port are then numbered in the order of binding, all processes must name
    /// the same count, and when a member ends, sources of others move too. Joining, attaching and
    /// ``ReusePortGroup/info()`` work; to leave, close the socket. Not for another key, or with ``flows``.
    public var allowsFallback = false
    /// Mount a BPF file system at the pin root when there is none (needs root).
    public var mountsFileSystem = false
    /// The compiled program to load instead of the embedded one; an ELF object.
    public var object: [UInt8]?
    /// Receives one line at a time, on the thread that calls the library.
    public var log: (@Sendable (LogLevel, String) -> Void)?

    /// - Parameters:
    ///   - count: the number of members; nil: the group's count.
    ///   - key: what it balances by; nil: the group's key.
    ///   - pinRoot: where it is pinned; nil: the default.
    public init(count: Int? = nil, key: ReusePortGroup.Key? = nil, pinRoot: String? = nil) {
        self.count = count
        self.key = key
        self.pinRoot = pinRoot
    }

    public enum LogLevel: Sendable { case error, info, debug }
}

extension ReusePortGroup {
    /// What is hashed, or counted, to find a member.
    public enum Key: Hashable, Sendable {
        /// A source address goes to one member.
        case sourceIP
        /// A flow (both addresses, both ports) goes to one member.
        case fourTuple
        /// Each datagram or connection to the next member, in a round for each CPU.
        case roundRobin
        /// Each datagram or connection to a random member.
        case random
        /// Datagrams with the same bytes in their payload go to one member.
        case payload(PayloadKey)
        /// Each packet to the member of the CPU that handles it: the CPU modulo the count.
        case cpu

        var native: rplb_key {
            switch self {
            case .sourceIP: RPLB_KEY_SOURCE_IP
            case .fourTuple: RPLB_KEY_FOUR_TUPLE
            case .roundRobin: RPLB_KEY_ROUND_ROBIN
            case .random: RPLB_KEY_RANDOM
            case .payload: RPLB_KEY_PAYLOAD
            case .cpu: RPLB_KEY_CPU
            }
        }

        init?(_ info: rplb_info) {
            if info.key == RPLB_KEY_PAYLOAD {
                guard let key = PayloadKey(native: info.payload) else { return nil }
                self = .payload(key)
                return
            }
            guard let key = Self.plain.first(where: { $0.native == info.key }) else { return nil }
            self = key
        }
    }
}

extension ReusePortGroup.Key: CustomStringConvertible {
    /// The keys without a specification of their own.
    public static let plain: [Self] = [.sourceIP, .fourTuple, .roundRobin, .random, .cpu]

    /// `source_ip`, `four_tuple`, `round_robin`, `random`, `payload` or `cpu`.
    public var name: String {
        switch self {
        case .sourceIP: "source_ip"
        case .fourTuple: "four_tuple"
        case .roundRobin: "round_robin"
        case .random: "random"
        case .payload: "payload"
        case .cpu: "cpu"
        }
    }

    /// The name, and the bytes of a payload.
    public var description: String {
        if case .payload(let key) = self { return "\(name) (\(key))" }
        return name
    }
}

extension PayloadKey {
    var native: rplb_payload_key {
        let key = datapath
        return rplb_payload_key(
            kind: rplb_payload_kind(UInt32(key.kind)), offset: UInt32(key.offset),
            length: UInt32(key.length), skip: UInt32(key.skip))
    }

    init?(native key: rplb_payload_key) {
        self.init(
            datapath: lb_payload_key(
                kind: UInt16(key.kind.rawValue), offset: UInt16(key.offset),
                length: UInt8(key.length), skip: UInt8(key.skip), reserved: 0))
    }
}
