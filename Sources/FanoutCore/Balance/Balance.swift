// SPDX-License-Identifier: Apache-2.0

/// How a listener spreads its datagrams: a flow key times a slot table.
public enum Balance: String, CaseIterable, Hashable, Sendable {
    /// Datagram by datagram in turn, in proportion to the weights.
    case roundRobin = "round_robin"
    /// Each datagram by a random number, in proportion to the weights.
    case random = "random"
    /// All datagrams of one source address reach one receiver.
    case sourceIP = "source_ip"
    /// All datagrams of one flow (both addresses, both ports) reach one receiver.
    case fourTuple = "four_tuple"

    /// What is looked up in the slot table.
    public enum KeySource: Hashable, Sendable {
        case counter, randomNumber, sourceAddress, fourTuple
    }

    public var keySource: KeySource {
        switch self {
        case .roundRobin: .counter
        case .random: .randomNumber
        case .sourceIP: .sourceAddress
        case .fourTuple: .fourTuple
        }
    }

    /// The slot table for `downstreams`, whose indices it holds.
    ///
    /// - Parameters:
    ///   - downstreams: at most `LB_DOWNSTREAMS_MAX`; those that are not ready own no slot.
    ///   - capacity: how many downstreams the listener may ever have (`settings.max_downstream`). It
    ///     fixes the size of a hash-keyed table, so that a change of membership never changes it.
    public func slotTable(for downstreams: [Downstream], capacity: Int) -> SlotTable {
        switch self {
        case .roundRobin, .random: SmoothWeightedTable.build(downstreams)
        case .sourceIP, .fourTuple: MaglevTable.build(downstreams, capacity: capacity)
        }
    }
}
