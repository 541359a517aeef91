// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Tables whose key is a hash: when one of N downstreams leaves, its share moves and next to nothing
/// else. Source: Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer",
/// NSDI 2016, section 3.4, with turns in proportion to the weights.
///
/// Each downstream walks its own permutation of the slots, which depends on its endpoint alone, and in
/// its turn takes the first slot that is still free.
public enum MaglevTable {
    /// Slots of a table for a listener with at most `capacity` downstreams: a prime, so that every
    /// step through it is a permutation.
    public static func size(capacity: Int) -> Int {
        var candidate = max(1, capacity) * Int(LB_SLOTS_PER_DOWNSTREAM) | 1
        while !isPrime(candidate) { candidate += 2 }
        return candidate
    }

    static func build(_ downstreams: [Downstream], capacity: Int) -> SlotTable {
        let ready = downstreams.readyPositions
        guard !ready.isEmpty else { return .empty }
        let size = size(capacity: max(capacity, downstreams.count))
        var walks = ready.map { Permutation(of: downstreams[$0].endpoint, size: size) }
        var turns = Turns(weights: ready.map { downstreams[$0].weight })
        var slots = [UInt16](repeating: .max, count: size)
        for _ in 0..<size {
            let turn = turns.next()
            var slot = walks[turn].next()
            while slots[slot] != .max { slot = walks[turn].next() }
            slots[slot] = UInt16(ready[turn])
        }
        return SlotTable(slots: slots)
    }

    /// The slots in the order in which one downstream prefers them.
    private struct Permutation {
        private var position: Int
        private let step: Int
        private let size: Int

        init(of endpoint: Endpoint, size: Int) {
            let hash = lb_mix64(
                lb_hash_addr(0, endpoint.address.datapath) ^ UInt64(endpoint.port))
            self.size = size
            position = Int(UInt64(UInt32(truncatingIfNeeded: hash)) % UInt64(size))
            step = Int((hash >> 32) % UInt64(size - 1)) + 1
        }

        mutating func next() -> Int {
            defer {
                position += step
                if position >= size { position -= size }
            }
            return position
        }
    }

    private static func isPrime(_ number: Int) -> Bool {
        var divisor = 3
        while divisor * divisor <= number {
            if number % divisor == 0 { return false }
            divisor += 2
        }
        return true
    }
}
