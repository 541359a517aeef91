// SPDX-License-Identifier: Apache-2.0

/// Which receiver a datagram would go to, and why: the decision of a data plane, as values.
public struct Explanation: Equatable, Sendable {
    /// A receiver's share of the slots.
    public struct Share: Equatable, Sendable {
        public let downstream: Downstream
        /// Slots that it owns; 0 if it gets no new traffic.
        public let slots: Int
    }

    /// The listener that the datagram matches.
    public let listener: Listener
    /// Why the listener matches.
    public let match: DestinationMatch
    /// The destination's port, one of the listener's.
    let port: UInt16
    /// The flow key; nil if it is a counter or a random number, which no packet determines.
    public let key: UInt32?
    public let slotCount: Int
    /// The slot of the key; nil without a key or without slots.
    public let slot: Int?
    /// Nil if no packet determines it, or no receiver is ready.
    public private(set) var receiver: Downstream?
    /// Whether an association decides, and not the slot.
    public private(set) var isAssociated = false
    /// Every receiver of the listener, in its order.
    public let shares: [Share]

    /// The payload, if one was given.
    private let payload: [UInt8]?

    /// - Parameter payload: of the datagram, for `balance: payload`.
    /// - Returns: nil if no listener of `state` matches `destination`.
    public init?(
        from source: Endpoint, to destination: Endpoint, payload: [UInt8]? = nil,
        in state: DesiredState
    ) {
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
        self.payload = payload
        let table = listener.slotTable
        slotCount = table.slots.count
        key =
            switch listener.balance.keySource {
            case .counter, .randomNumber: nil
            case .sourceAddress: FlowKey.sourceIP(source.address, seed: listener.settings.seed)
            case .fourTuple:
                FlowKey.fourTuple(
                    source: source, destination: destination, seed: listener.settings.seed)
            case .payload:
                payload.map { [listener] in
                    FlowKey.payload(
                        $0, listener.payloadKey ?? PayloadKey(), source: source,
                        destination: destination, seed: listener.settings.seed)
                }
            }
        slot = key.flatMap { [slotCount] in slotCount == 0 ? nil : Int($0 % UInt32(slotCount)) }
        receiver = key.flatMap(table.owner(of:)).map { [listener] in listener.downstreams[$0] }
        var owned = [Int](repeating: 0, count: listener.downstreams.count)
        for owner in table.slots { owned[Int(owner)] += 1 }
        shares = zip(listener.downstreams, owned).map(Share.init)
    }

    /// Whether the payload determines the receiver, and none was given.
    public var lacksPayload: Bool {
        listener.balance.keySource == .payload && payload == nil && !isAssociated
    }

    /// Selects the receiver at `server`, because the sender has an association with it.
    public mutating func associate(with server: Endpoint) {
        guard let known = listener.downstreams.first(where: { address(of: $0) == server }) else {
            return
        }
        (receiver, isAssociated) = (known, true)
    }

    /// The receiver's address for datagrams to this port.
    public func address(of downstream: Downstream) -> Endpoint {
        listener.endpoint(of: downstream, at: port)
    }
}

extension Explanation {
    /// Order of precedence: kernel hooks before sockets, and a socket bound to the address before a wildcard.
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
    /// The steps of the decision, one sentence each, in order.
    public var reasons: [String] {
        var reasons = [match.sentence(listener, port: port)]
        if isAssociated, let receiver {
            reasons.append(
                "the client has an association with \(receiver.name) (\(address(of: receiver))), "
                    + "which takes precedence over slots until the receiver leaves or is unhealthy")
            return reasons
        }
        if remembers {
            reasons.append("the client has no association: its next packet creates one, by its key")
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

    /// Whether a client keeps its receiver.
    private var remembers: Bool { listener.mode == .xdpNAT }

    private var sentenceOfPayload: String {
        let key = listener.payloadKey ?? PayloadKey()
        guard let bytes = key.bytes(in: payload ?? []) else {
            return "the payload has no bytes for \(key), so its key is a hash of "
                + (key.hasSource ? "the source address" : "both addresses and both ports")
        }
        let digits = bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
        return "its key is a hash of "
            + (key.hasSource ? "the source address and of " : "")
            + "the bytes \(digits) of the payload (\(key))"
    }

    private var sentenceOfKey: String {
        switch listener.balance.keySource {
        case .counter where remembers:
            "its key is a counter: each new association goes to the next receiver, "
                + "whatever the client"
        case .counter:
            "its key is a counter: each datagram goes to the next receiver, whatever its source"
        case .randomNumber where remembers:
            "its key is a random number: the client does not determine its receiver"
        case .randomNumber:
            "its key is a random number: the datagram does not determine its receiver"
        case .sourceAddress: "its key is a hash of the source address"
        case .fourTuple: "its key is a hash of both addresses and both ports"
        case .payload: sentenceOfPayload
        }
    }
}
