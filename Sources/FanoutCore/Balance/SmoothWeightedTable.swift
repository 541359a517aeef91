// SPDX-License-Identifier: Apache-2.0

/// Tables whose key is a counter or a random number: each downstream has slots in proportion to its
/// weight, spread as evenly as can be (the smooth weighted round robin that nginx made known).
public enum SmoothWeightedTable {
    /// Longest table: 8 slots for each of 1024 downstreams. Weights that need more are rounded, which
    /// shifts a share by at most half a slot in 8192.
    public static let longest = 8192

    static func build(_ downstreams: [Downstream]) -> SlotTable {
        let ready = downstreams.readyPositions
        guard !ready.isEmpty else { return .empty }
        let weights = slotCounts(for: ready.map { Int(downstreams[$0].weight) })
        let total = weights.reduce(0, +)

        // Each round everyone earns its weight, the richest takes the slot and pays the total.
        var credit = [Int](repeating: 0, count: ready.count)
        var slots: [UInt16] = []
        slots.reserveCapacity(total)
        for _ in 0..<total {
            var richest = 0
            for index in credit.indices {
                credit[index] += weights[index]
                if credit[index] > credit[richest] { richest = index }
            }
            credit[richest] -= total
            slots.append(UInt16(ready[richest]))
        }
        return SlotTable(slots: slots)
    }

    /// How many slots each weight gets: the weights in lowest terms, or, when their sum is above
    /// `longest`, their shares of it, at least one each.
    static func slotCounts(for weights: [Int]) -> [Int] {
        let divisor = weights.reduce(0, greatestCommonDivisor)
        let total = weights.reduce(0, +)
        if total / divisor <= longest { return weights.map { $0 / divisor } }
        return weights.map { max(1, ($0 * longest + total / 2) / total) }
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
        b == 0 ? a : greatestCommonDivisor(b, a % b)
    }
}
