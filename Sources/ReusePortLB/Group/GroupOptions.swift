// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB

/// How to open or create a group. The defaults open a group of any kind, or create one that balances by source
/// address.
public struct GroupOptions: Sendable {
    /// An absolute path on a BPF file system, below which the group is pinned; nil:
    /// ``ReusePortGroup/defaultPinRoot``.
    public var pinRoot: String?
    /// The number of members, 1...``ReusePortGroup/maximumCount``; nil keeps the group's count, and the group must
    /// exist. The first socket that joins through this value resizes a group with another count, so that a refused
    /// start changes nothing; ``ReusePortGroup/resize(count:)`` does it at once. From N to N+1 about one source in N+1
    /// moves.
    public var count: Int?
    /// What the group balances by; nil: the group's key, or the source address for a new group.
    public var key: ReusePortGroup.Key?
    /// Mixed into the hash. Hosts with the same seed and count choose alike. nil: the group's seed, or 0 for a new
    /// group.
    public var seed: UInt64?
    /// The owner of a new group's pins, who may open it; nil: the caller's uid and group.
    public var owner: UInt32?
    public var ownerGroup: UInt32?
    /// The permissions of a new group's pins; nil: 0600.
    public var mode: UInt32?
    /// Never create a group: fail with ``ReusePortError/Code/notFound`` when there is none.
    public var existingOnly = false
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
    public enum Key: String, CaseIterable, Hashable, Sendable {
        /// A source address goes to one member.
        case sourceIP = "source_ip"
        /// A flow (both addresses, both ports) goes to one member.
        case fourTuple = "four_tuple"
        /// Each datagram or connection to the next member, in a round for each CPU.
        case roundRobin = "round_robin"
        /// Each datagram or connection to a random member.
        case random = "random"

        var native: rplb_key {
            switch self {
            case .sourceIP: RPLB_KEY_SOURCE_IP
            case .fourTuple: RPLB_KEY_FOUR_TUPLE
            case .roundRobin: RPLB_KEY_ROUND_ROBIN
            case .random: RPLB_KEY_RANDOM
            }
        }

        init?(_ native: rplb_key) {
            guard let key = Self.allCases.first(where: { $0.native == native }) else { return nil }
            self = key
        }
    }
}
