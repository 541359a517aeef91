// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Synchronization

/// What sources have found, on its way to the monitor: put in without waiting, taken out all at once,
/// only the latest of each.
final class DiscoveryMailbox: Sendable {
    /// One element for any number of sets since the last.
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    /// By the number of the source's run, so that a source of former times is not taken for its
    /// successor.
    private let sets = Mutex<[Int: DiscoveredSet]>([:])

    init() {
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ set: DiscoveredSet, of run: Int) {
        sets.withLock { $0[run] = set }
        arrived.yield()
    }

    /// Has the monitor look again, though nothing may be there.
    func knock() { arrived.yield() }

    func take() -> [Int: DiscoveredSet] {
        sets.withLock { sets in
            defer { sets = [:] }
            return sets
        }
    }
}
