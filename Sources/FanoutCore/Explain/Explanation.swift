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
    /// The destination's, one of the listener's.
    let port: UInt16
    /// The flow key; nil when it is a counter or a random number, which no packet determines.
    public let key: UInt32?
    public let slotCount: Int
    /// The slot that the key names; nil without a key or without slots.
    public let slot: Int?
    /// Nil if no packet determines it, or no receiver is ready.
    public private(set) var receiver: Downstream?
    /// Whether that is for an association, and not for the slot.
    public private(set) var isAssociated = false
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
        port = destination.port
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

    /// Has the receiver that is met at `server` be the one, since the sender has an association with it.
    public mutating func associate(with server: Endpoint) {
        guard let known = listener.downstreams.first(where: { address(of: $0) == server }) else {
            return
        }
        (receiver, isAssociated) = (known, true)
    }

    /// Where a receiver of the listener is met by who sends to this port.
    public func address(of downstream: Downstream) -> Endpoint {
        listener.endpoint(of: downstream, at: port)
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

extension Explanation {
    /// What leads to the receiver, a sentence each, in the order in which it is decided.
    public var reasons: [String] {
        var reasons = [match.sentence(listener, port: port)]
        if isAssociated, let receiver {
            reasons.append(
                "the client has an association with \(receiver.name) (\(address(of: receiver))), "
                    + "which goes before any slot: it ends when the receiver leaves or is not healthy"
            )
            return reasons
        }
        if remembers {
            reasons.append("the client has no association: its next packet makes one, by its key")
        }
        reasons.append(sentenceOfKey)
        if slotCount == 0 {
            reasons.append("no receiver is ready, so it would be dropped as no_healthy")
        } else if let key, let slot, let receiver {
            reasons.append(
                "the key \(key) modulo \(slotCount) slots is \(slot), which "
                    + "\(receiver.name) (\(address(of: receiver))) owns")
        }
        return reasons
    }

    /// Whether a client stays with its receiver.
    private var remembers: Bool { listener.mode == .xdpNAT }

    private var sentenceOfKey: String {
        switch listener.balance.keySource {
        case .counter where remembers:
            "its key is a counter: association by association the receivers take turns, "
                + "whoever the client is"
        case .counter:
            "its key is a counter: datagram by datagram the receivers take turns, whoever sends"
        case .randomNumber where remembers:
            "its key is a random number: a client says nothing of its receiver"
        case .randomNumber:
            "its key is a random number: a datagram says nothing of its receiver"
        case .sourceAddress: "its key is a hash of the source address"
        case .fourTuple: "its key is a hash of both addresses and both ports"
        }
    }
}
