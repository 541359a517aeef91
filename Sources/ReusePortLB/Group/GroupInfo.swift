// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc

/// What is fixed or agreed about a group.
public struct GroupInfo: Hashable, Sendable {
    /// Members that the group is meant to have.
    public let count: Int
    public let key: ReusePortGroup.Key
    public let seed: UInt64
    /// What the members are bound to; nil before the first has joined.
    public let address: Endpoint?
    /// Version of the layout of the pins.
    public let abi: Int
}

/// What the program counted for a slot since the group was made, UDP and TCP together.
public struct SlotCounters: Hashable, Sendable {
    /// The member was the first choice and took the packet.
    public var selected: UInt64 = 0
    /// The member stood in for one that was gone.
    public var fallback: UInt64 = 0
    /// The member was the first choice and was gone.
    public var missed: UInt64 = 0

    /// What the member was given.
    public var received: UInt64 { selected + fallback }
}

/// A socket that is in a slot now.
public struct Member: Hashable, Sendable {
    /// The transport of the socket.
    public enum Transport: String, Hashable, Sendable { case udp, tcp }

    public let slot: Int
    public let transport: Transport
    /// The kernel's number of the socket (SO_COOKIE).
    public let cookie: UInt64
    /// Since 1970, in nanoseconds; nil when the socket was put there by other means.
    public let joinedNanoseconds: UInt64?
    /// The process that joined, as it knew itself in its own pid namespace; nil when unknown.
    public let pid: Int32?
    /// Its effective uid; nil when unknown.
    public let uid: UInt32?
}
