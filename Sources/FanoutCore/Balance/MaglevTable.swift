// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Tables whose key is a hash: when one of N receivers leaves, its share moves and almost nothing else. Source:
/// Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, section 3.4, weighted
/// here.
///
/// Each receiver has its own order of preference for the slots, which depends on its endpoint alone. At each step
/// of the weighted schedule a receiver takes its first free slot (lb/slot_table.h). The paper's order, an offset
/// and a stride, is not used: receivers with related strides compete for the same slots, and a departure then moves
/// a quarter of the table (docs/decisions/0003-slot-tables.md).
public enum MaglevTable {
    /// Slots of a table for a listener with at most `capacity` receivers, ready or not.
    public static func size(capacity: Int) -> Int {
        max(Int(LB_SLOTS_MIN), capacity * Int(LB_SLOTS_PER_DOWNSTREAM))
    }

    /// Expected time O(size log size).
    static func build(_ downstreams: [Downstream], capacity: Int) -> SlotTable {
        let ready = downstreams.readyPositions
        guard !ready.isEmpty else { return .empty }
        let size = size(capacity: max(capacity, downstreams.count))
        var preferences = ready.map { position in
            let endpoint = downstreams[position].endpoint
            return lb_preference_of(endpoint.address.datapath, endpoint.port)
        }
        var turns = WeightedSchedule(weights: downstreams.shares(at: ready))
        var slots = [UInt16](repeating: .max, count: size)
        // Finding a free slot takes most of the time; a bitmap of the table stays in the processor's cache.
        var taken = [UInt64](repeating: 0, count: (size + 63) / 64)
        for _ in 0..<size {
            let turn = turns.next()
            var preference = preferences[turn]
            var slot: Int
            repeat {
                // SAFETY: the C function steps the one value behind the pointer before it returns.
                slot = Int(unsafe lb_preference_next(&preference, UInt32(size)))
            } while taken[slot >> 6] >> UInt64(slot & 63) & 1 != 0
            preferences[turn] = preference
            taken[slot >> 6] |= 1 << UInt64(slot & 63)
            slots[slot] = UInt16(ready[turn])
        }
        return SlotTable(slots: slots)
    }
}
