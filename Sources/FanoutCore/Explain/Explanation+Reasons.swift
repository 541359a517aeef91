// SPDX-License-Identifier: Apache-2.0

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
