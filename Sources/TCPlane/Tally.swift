// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore

/// What a listener counted in rows that are no more, receiver by receiver.
struct Tally: Sendable {
    var listener = Counts()
    var receivers = PastCounts<Counts>()
}
