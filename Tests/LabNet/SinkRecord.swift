// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The record that a sink's reader writes and its owner reads.
final class SinkRecord: Sendable {
    struct Content: Sendable {
        var count: UInt64 = 0
        var bytes: UInt64 = 0
        var damaged: UInt64 = 0
        var datagrams: [Received] = []
        var flows: [UInt32: FlowTally] = [:]
        var arrivals: [Arrival] = []
    }

    let keepsPayloads: Bool
    let keepsTimes: Bool
    private let content = Mutex(Content())
    private let ending = Atomic(false)

    init(keepsPayloads: Bool, keepsTimes: Bool) {
        self.keepsPayloads = keepsPayloads
        self.keepsTimes = keepsTimes
    }

    func read<Result: Sendable>(_ body: (borrowing Content) -> Result) -> Result {
        content.withLock { body($0) }
    }

    func write(_ body: (inout Content) -> Void) { content.withLock { body(&$0) } }

    func end() { ending.store(true, ordering: .releasing) }

    var isEnding: Bool { ending.load(ordering: .acquiring) }
}
