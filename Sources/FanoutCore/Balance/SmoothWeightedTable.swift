// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Tables whose key is a counter or a random number: each downstream has slots in proportion to its
/// weight, spread as evenly as can be.
///
/// Weights that fit are exact and in the order of the smooth weighted round robin that nginx made
/// known: 5, 1, 1 give a a b a c a a. Weights whose lowest terms sum to more than `longest`, such as
/// 40000 and 39999, take turns in a table of `longest` slots or 128 for each downstream, which
/// shifts a share by less than one per cent and leaves every downstream a slot.
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

    /// One cycle: each round everyone earns its weight, the richest takes the slot and pays the
    /// total. O(n times the sum of the weights).
    private static func smoothOrder(of weights: [Int]) -> [Int] {
        let total = weights.reduce(0, +)
        // All alike, in lowest terms: everyone once, in order.
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
