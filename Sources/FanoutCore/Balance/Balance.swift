// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// How a listener spreads its datagrams: a flow key × a slot table.
public enum Balance: String, CaseIterable, Hashable, Sendable {
    /// Each datagram to the next receiver, in proportion to the weights.
    case roundRobin = "round_robin"
    /// Each datagram by a random number, in proportion to the weights.
    case random = "random"
    /// All datagrams of one source address go to one receiver.
    case sourceIP = "source_ip"
    /// All datagrams of one flow (both addresses, both ports) go to one receiver.
    case fourTuple = "four_tuple"
    /// All datagrams with the same bytes in their payload, which `Listener.payloadKey` names, go to one receiver.
    case payload

    /// The number that selects the slot.
    public enum KeySource: Hashable, Sendable {
        case counter, randomNumber, sourceAddress, fourTuple, payload
    }

    public var keySource: KeySource {
        switch self {
        case .roundRobin: .counter
        case .random: .randomNumber
        case .sourceIP: .sourceAddress
        case .fourTuple: .fourTuple
        case .payload: .payload
        }
    }

    /// The slot table for `downstreams`. It holds their indices.
    ///
    /// - Parameters:
    ///   - downstreams: at most `LB_DOWNSTREAMS_MAX`; receivers that are not ready own no slot.
    ///   - capacity: how many downstreams the listener may ever have (`settings.max_downstream`). It
    ///     fixes the size of a hash-keyed table, so that a change of membership never changes it.
    public func slotTable(for downstreams: [Downstream], capacity: Int) -> SlotTable {
        switch self {
        case .roundRobin, .random: SmoothWeightedTable.build(downstreams)
        case .sourceIP, .fourTuple, .payload:
            MaglevTable.build(downstreams, capacity: capacity)
        }
    }
}

/// The hash-based flow keys, computed by the C header that the kernel programs compile.
public enum FlowKey {
    /// The key of `source_ip`: the same for a client on IPv4 and on a dual-stack socket.
    @inlinable
    public static func sourceIP(_ source: IPAddress, seed: UInt64 = 0) -> UInt32 {
        sourceIP(high: source.high, low: source.low, seed: seed)
    }

    @usableFromInline
    static func sourceIP(high: UInt64, low: UInt64, seed: UInt64) -> UInt32 {
        lb_key_source_ip(seed, lb_addr(high: high, low: low))
    }

    /// The key of `four_tuple`.
    public static func fourTuple(
        source: Endpoint, destination: Endpoint, seed: UInt64 = 0
    ) -> UInt32 {
        var flow = Self.flow(source, destination)
        // SAFETY: the C function reads the one value behind the pointer before it returns.
        return unsafe lb_key_four_tuple(seed, &flow)
    }
}
