// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What a collector has received. The worker alone writes; anybody may read.
final class Tally: Sendable {
    /// Source addresses that are told apart; an attacker could otherwise fill the memory with them.
    static let sourcesMax = 1 << 20

    let received = Atomic<UInt64>(0)
    /// Of payload, including what was cut off.
    let bytes = Atomic<UInt64>(0)
    let truncated = Atomic<UInt64>(0)
    /// Different source addresses.
    let sources = Atomic(0)
}
