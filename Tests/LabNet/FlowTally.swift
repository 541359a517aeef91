// SPDX-License-Identifier: Apache-2.0

/// The arrivals of one flow: which sequence numbers, how often, in what order.
public struct FlowTally: Equatable, Sendable {
    /// A bit for each sequence number that arrived.
    private var seen: [UInt64] = []
    private var highest: Int64 = -1
    /// Different sequence numbers that arrived.
    public private(set) var count: UInt64 = 0
    /// Arrivals of a number that had arrived before.
    public private(set) var duplicates: UInt64 = 0
    /// Arrivals after a higher number.
    public private(set) var disorders: UInt64 = 0

    public init() {}

    mutating func note(_ sequence: UInt64) {
        let word = Int(sequence >> 6)
        let bit = UInt64(1) << (sequence & 63)
        if word >= seen.count {
            seen.append(contentsOf: repeatElement(0, count: word + 1 - seen.count))
        }
        if seen[word] & bit != 0 {
            duplicates += 1
        } else {
            seen[word] |= bit
            count += 1
        }
        if Int64(sequence) < highest { disorders += 1 } else { highest = Int64(sequence) }
    }

    /// Adds the arrivals of the same flow at another receiver. Order is counted per receiver.
    public mutating func merge(_ other: FlowTally) {
        if other.seen.count > seen.count {
            seen.append(contentsOf: repeatElement(0, count: other.seen.count - seen.count))
        }
        duplicates += other.duplicates
        disorders += other.disorders
        highest = max(highest, other.highest)
        for (word, bits) in other.seen.enumerated() {
            duplicates += UInt64((seen[word] & bits).nonzeroBitCount)
            count += UInt64((bits & ~seen[word]).nonzeroBitCount)
            seen[word] |= bits
        }
    }

    /// The sequence numbers below `sent` that did not arrive; the first few hundred.
    public func missing(of sent: UInt64) -> [UInt64] {
        var result: [UInt64] = []
        for sequence in 0..<sent where result.count < 300 {
            let word = Int(sequence >> 6)
            if word >= seen.count || seen[word] >> (sequence & 63) & 1 == 0 {
                result.append(sequence)
            }
        }
        return result
    }
}
