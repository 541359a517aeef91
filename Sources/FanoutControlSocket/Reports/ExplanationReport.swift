// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// Which receiver a datagram would meet, and why: the answer to `explain`.
public struct ExplanationReport: Codable, Equatable, Sendable {
    public struct Share: Codable, Equatable, Sendable {
        public var name: String
        public var address: String
        public var slots: Int
    }

    public var from: String
    public var to: String
    public var listener: String
    public var mode: String
    public var balance: String
    /// The flow key; nil when it is a counter or a random number.
    public var key: UInt32?
    public var slots: Int
    public var slot: Int?
    /// Nil when no packet determines it, or nobody is ready.
    public var receiver: String?
    public var receiverAddress: String?
    /// Whether the sender has an association with the receiver, which goes before its slot; nil in modes
    /// that remember nobody.
    public var associated: Bool?
    /// A sentence for each step of the decision.
    public var reasons: [String]
    /// Every receiver of the listener, and how many slots it owns.
    public var shares: [Share]

    public init(_ explanation: Explanation, from source: Endpoint, to destination: Endpoint) {
        from = "\(source)"
        to = "\(destination)"
        listener = explanation.listener.name
        mode = explanation.listener.mode.rawValue
        balance = explanation.listener.balance.rawValue
        key = explanation.key
        slots = explanation.slotCount
        slot = explanation.slot
        receiver = explanation.receiver?.name
        receiverAddress = explanation.receiver.map { "\(explanation.address(of: $0))" }
        associated = explanation.listener.mode == .xdpNAT ? explanation.isAssociated : nil
        reasons = explanation.reasons
        shares = explanation.shares.map {
            Share(
                name: $0.downstream.name, address: "\(explanation.address(of: $0.downstream))",
                slots: $0.slots)
        }
    }
}
