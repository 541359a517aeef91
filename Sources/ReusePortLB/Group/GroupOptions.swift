// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB

/// How a group is opened, or made. The defaults open a group of any kind, or make one that balances by
/// source address.
public struct GroupOptions: Sendable {
    /// An absolute path on a BPF file system, below which the group is pinned; nil:
    /// ``ReusePortGroup/defaultPinRoot``.
    public var pinRoot: String?
    /// Members that the group is meant to have, 1...``ReusePortGroup/maximumCount``; nil: as the group
    /// is, which must then exist. A group with another count is resized by the first socket that joins
    /// through this value, so that a start that is refused changes nothing; ``ReusePortGroup/resize(count:)``
    /// does it at once. From N to N+1 about one source in N+1 moves.
    public var count: Int?
    /// What the group balances by; nil: as the group is, a new one: by source address.
    public var key: ReusePortGroup.Key?
    /// Mixed into the hash. Hosts with the same seed and count choose alike. nil: as the group is, a
    /// new one: 0.
    public var seed: UInt64?
    /// Who owns a new group's pins and may open it; nil: the caller's uid and group.
    public var owner: UInt32?
    public var ownerGroup: UInt32?
    /// The permissions of a new group's pins; nil: 0600.
    public var mode: UInt32?
    /// Never make a group: fail with ``ReusePortError/Code/notFound`` when there is none.
    public var existingOnly = false
    /// Mount a BPF file system at the pin root when there is none (needs root).
    public var mountsFileSystem = false
    /// The compiled program to load in place of the one in this library; an ELF object.
    public var object: [UInt8]?
    /// Receives a line at a time, on whichever thread calls the library.
    public var log: (@Sendable (LogLevel, String) -> Void)?

    /// - Parameters:
    ///   - count: members that the group is meant to have; nil: as the group is.
    ///   - key: what it balances by; nil: as the group is.
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
        /// A source address meets one member.
        case sourceIP = "source_ip"
        /// A flow (both addresses, both ports) meets one member.
        case fourTuple = "four_tuple"
        /// Each datagram or connection in turn, CPU by CPU.
        case roundRobin = "round_robin"
        /// Each datagram or connection by a random number.
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
