// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore

/// A row of counters, all CPUs together.
struct Counts: Equatable, CustomStringConvertible {
    let words: [UInt64]

    subscript(counter: lb_counter) -> UInt64 { words[Int(counter.rawValue)] }

    subscript(reason: DropReason) -> UInt64 {
        words[Int(LB_COUNT_DROPS.rawValue) + reason.index]
    }

    var received: UInt64 { self[LB_COUNT_PACKETS_RECEIVED] }
    var receivedBytes: UInt64 { self[LB_COUNT_BYTES_RECEIVED] }
    var forwarded: UInt64 { self[LB_COUNT_PACKETS_FORWARDED] }
    var forwardedBytes: UInt64 { self[LB_COUNT_BYTES_FORWARDED] }
    var dropped: UInt64 { words[Int(LB_COUNT_DROPS.rawValue)...].reduce(0, +) }

    /// Whether received equals forwarded plus the drops.
    var isBalanced: Bool { received == forwarded + dropped }

    static func + (left: Counts, right: Counts) -> Counts {
        Counts(words: zip(left.words, right.words).map { $0 + $1 })
    }

    static func - (left: Counts, right: Counts) -> Counts {
        Counts(words: zip(left.words, right.words).map { $0 - $1 })
    }

    var description: String {
        let drops = DropReason.allCases.filter { self[$0] > 0 }.map { "\($0.rawValue) \(self[$0])" }
        return
            (["received \(received)/\(receivedBytes)", "forwarded \(forwarded)/\(forwardedBytes)"]
            + drops).joined(separator: ", ")
    }
}
