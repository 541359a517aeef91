// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Tables whose key is a hash: when one of N downstreams leaves, its share moves and next to nothing
/// else. Source: Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer",
/// NSDI 2016, section 3.4, with turns in proportion to the weights.
///
/// Each downstream prefers the slots in an order of its own, which depends on its endpoint alone, and
/// in its turn takes the first that is still free. The paper's order, an offset and a stride, is not
/// used: two downstreams whose strides are related get in each other's way, and then a departure
/// moves a quarter of the table (docs/decisions/0003-slot-tables.md).
public enum MaglevTable {
    /// Slots of a table for a listener with at most `capacity` downstreams, whoever is ready.
    public static func size(capacity: Int) -> Int {
        max(Int(LB_SLOTS_MIN), capacity * Int(LB_SLOTS_PER_DOWNSTREAM))
    }

    /// Expected time O(size log size).
    static func build(_ downstreams: [Downstream], capacity: Int) -> SlotTable {
        let ready = downstreams.readyPositions
        guard !ready.isEmpty else { return .empty }
        let size = size(capacity: max(capacity, downstreams.count))
        var preferences = ready.map { Preference(of: downstreams[$0].endpoint, size: size) }
        var turns = Turns(weights: ready.map { downstreams[$0].weight })
        var slots = [UInt16](repeating: .max, count: size)
        for _ in 0..<size {
            let turn = turns.next()
            var slot = preferences[turn].next()
            while slots[slot] != .max { slot = preferences[turn].next() }
            slots[slot] = UInt16(ready[turn])
        }
        return SlotTable(slots: slots)
    }

    /// The slots in the order in which one downstream prefers them: that of their first appearance in
    /// a stream of random numbers. A slot that appears again is taken by then, so repetitions do no
    /// harm. The stream is SplitMix64 (Steele et al., OOPSLA 2014), which takes every value once in
    /// 2^64 steps, so that every slot comes up.
    private struct Preference {
        private var state: UInt64
        private let size: UInt64

        init(of endpoint: Endpoint, size: Int) {
            state = lb_mix64(lb_hash_addr(0, endpoint.address.datapath) ^ UInt64(endpoint.port))
            self.size = UInt64(size)
        }

        mutating func next() -> Int {
            state &+= 0x9e37_79b9_7f4a_7c15
            return Int(((lb_mix64(state) >> 32) * size) >> 32)
        }
    }
}
