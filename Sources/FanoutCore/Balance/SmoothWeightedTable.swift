// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Tables whose key is a counter or a random number: each receiver has slots in proportion to its weight, spread as
/// evenly as possible.
///
/// Small weights are exact, in nginx's order of smooth weighted round robin: 5, 1, 1 give a a b a c a a. Weights
/// whose lowest terms sum to more than `longest`, such as 40000 and 39999, get a table of `longest` slots, or 128
/// for each receiver. This shifts a share by less than one per cent and leaves each receiver at least one slot.
public enum SmoothWeightedTable {
    /// Longest exact table: 8 slots for each of 1024 downstreams.
    public static let longest = 8192

    static func build(_ downstreams: [Downstream]) -> SlotTable {
        let ready = downstreams.readyPositions
        guard !ready.isEmpty else { return .empty }
        let weights = downstreams.shares(at: ready)
        let divisor = weights.reduce(0, greatestCommonDivisor)
        let lowest = weights.map { Int($0 / divisor) }
        let order =
            lowest.reduce(0, +) <= longest
            ? smoothOrder(of: lowest)
            : turns(of: weights, count: max(longest, ready.count * Int(LB_SLOTS_PER_DOWNSTREAM)))
        return SlotTable(slots: order.map { UInt16(ready[$0]) })
    }

    /// One cycle. In each round every receiver earns its weight; the richest takes the slot and pays the total. O(n
    /// times the sum of the weights).
    private static func smoothOrder(of weights: [Int]) -> [Int] {
        let total = weights.reduce(0, +)
        // Equal weights in lowest terms are all 1: each receiver once, in order.
        guard total > weights.count else { return Array(weights.indices) }
        var credit = [Int](repeating: 0, count: weights.count)
        return (0..<total).map { _ in
            var richest = 0
            for index in credit.indices {
                credit[index] += weights[index]
                if credit[index] > credit[richest] { richest = index }
            }
            credit[richest] -= total
            return richest
        }
    }

    private static func turns(of weights: [UInt16], count: Int) -> [Int] {
        var turns = WeightedSchedule(weights: weights)
        return (0..<count).map { _ in turns.next() }
    }

    private static func greatestCommonDivisor(_ a: UInt16, _ b: UInt16) -> UInt16 {
        b == 0 ? a : greatestCommonDivisor(b, a % b)
    }
}
