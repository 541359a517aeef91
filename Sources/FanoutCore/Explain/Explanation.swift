// SPDX-License-Identifier: Apache-2.0

/// Which receiver a datagram would meet, and why: the way that a data plane takes, in values.
public struct Explanation: Equatable, Sendable {
    /// A receiver's part in it.
    public struct Share: Equatable, Sendable {
        public let downstream: Downstream
        /// Slots that it owns; 0 when it gets nothing new.
        public let slots: Int
    }

    /// The listener that takes it.
    public let listener: Listener
    /// Which of the listener's destinations it is for.
    public let match: DestinationMatch
    /// The flow key; nil when it is a counter or a random number, which no packet determines.
    public let key: UInt32?
    public let slotCount: Int
    /// The slot that the key names; nil without a key or without slots.
    public let slot: Int?
    /// Who receives it; nil when no packet determines that, or nobody is ready.
    public let receiver: Downstream?
    /// Every receiver of the listener, in its order.
    public let shares: [Share]

    /// - Returns: nil when no listener of `state` takes a datagram to `destination`.
    public init?(from source: Endpoint, to destination: Endpoint, in state: DesiredState) {
        let takers = state.listeners.compactMap { listener in
            listener.match(destination).map { (listener: listener, match: $0) }
        }
        guard
            let taker = takers.min(by: {
                Self.rank($0.listener, $0.match) < Self.rank($1.listener, $1.match)
            })
        else { return nil }
        (listener, match) = taker
        let table = listener.slotTable
        slotCount = table.slots.count
        key =
            switch listener.balance.keySource {
            case .counter, .randomNumber: nil
            case .sourceAddress: FlowKey.sourceIP(source.address, seed: listener.settings.seed)
            case .fourTuple:
                FlowKey.fourTuple(
                    source: source, destination: destination, seed: listener.settings.seed)
            }
        slot = key.flatMap { [slotCount] in slotCount == 0 ? nil : Int($0 % UInt32(slotCount)) }
        receiver = key.flatMap(table.owner(of:)).map { [listener] in listener.downstreams[$0] }
        var owned = [Int](repeating: 0, count: listener.downstreams.count)
        for owner in table.slots { owned[Int(owner)] += 1 }
        shares = zip(listener.downstreams, owned).map(Share.init)
    }

    /// What leads to the receiver, a sentence each, in the order in which it is decided.
    public var reasons: [String] {
        var reasons = [match.sentence(listener)]
        switch listener.balance.keySource {
        case .counter:
            reasons.append(
                "its key is a counter: datagram by datagram the receivers take turns, whoever sends"
            )
        case .randomNumber:
            reasons.append("its key is a random number: a datagram says nothing of its receiver")
        case .sourceAddress: reasons.append("its key is a hash of the source address")
        case .fourTuple: reasons.append("its key is a hash of both addresses and both ports")
        }
        if slotCount == 0 {
            reasons.append("no receiver is ready, so it would be dropped as no_healthy")
        } else if let key, let slot, let receiver {
            reasons.append(
                "the key \(key) modulo \(slotCount) slots is \(slot), which "
                    + "\(receiver.name) (\(receiver.endpoint)) owns")
        }
        if listener.mode == .xdpNAT {
            reasons.append(
                "a flow that this mode remembers stays with its receiver, whatever the slot says")
        }
        return reasons
    }
}

extension Explanation {
    /// Who is first: the kernel's hooks come before its sockets, and of two sockets the one that is
    /// bound to the address before the one that is bound to any.
    private static func rank(_ listener: Listener, _ match: DestinationMatch) -> Int {
        let mode =
            switch listener.mode {
            case .xdpNAT: 0
            case .afXDP: 1
            case .tcEBPF: 2
            case .userspace: 3
            }
        return mode * 10 + match.rank
    }
}
