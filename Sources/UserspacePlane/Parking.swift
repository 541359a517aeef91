// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Synchronization

/// Where a worker waits while another process may read from its socket.
final class Parking: Sendable {
    /// Whether it is to empty its queue first, as far as that comes to an end.
    let emptiesQueue: Bool
    private let arrival = Latch()
    private let gate = Gate()

    init(emptiesQueue: Bool) { self.emptiesQueue = emptiesQueue }

    /// The worker's side: says that it no longer reads, and waits.
    ///
    /// - Returns: whether it is to go on; otherwise it ends and leaves its socket as it is.
    func wait() -> Bool {
        arrival.countDown()
        return gate.pass()
    }

    /// Whether the worker has come here within a millisecond.
    func hasArrived() -> Bool { arrival.wait(until: MonotonicClock.now + 1_000_000) }

    func decide(goOn: Bool) { gate.decide(goOn: goOn) }
}

/// Says to a worker that leaves its loop where to wait.
final class ParkingSign: Sendable {
    private let place = Mutex<Parking?>(nil)

    var parking: Parking? {
        get { place.withLock { $0 } }
        set { place.withLock { $0 = newValue } }
    }
}
