// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Synchronization

/// The early end of a run: asked for by a signal or by output that nobody reads, heard by all workers.
final class Stop: Sendable {
    enum Reason: Equatable, Sendable {
        case signal(TerminationSignal)
        /// Nobody reads the output any more.
        case closed
    }

    private let latch = Latch()
    private let first = Mutex<Reason?>(nil)

    /// The reason that came first; nil: the run is to go on.
    var reason: Reason? { first.withLock { $0 } }

    var isRequested: Bool { latch.isOpen }

    func request(_ reason: Reason) {
        first.withLock { $0 = $0 ?? reason }
        latch.countDown()
    }

    /// Waits until it is requested or `MonotonicClock` shows `deadline`, nanoseconds.
    func wait(until deadline: Int64) { latch.wait(until: deadline) }
}
