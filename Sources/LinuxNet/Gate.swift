// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Where one thread waits for another's decision, made once. Waiting costs nothing, however many
/// threads do it.
@safe public final class Gate: @unchecked Sendable {
    private enum Decision: UInt8, AtomicRepresentable { case none, goOn, giveUp }

    // SAFETY: initialised in init, destroyed in deinit; sem_wait and sem_post are safe from any thread.
    private let semaphore: UnsafeMutablePointer<sem_t>
    private let decision = Atomic<Decision>(.none)

    public init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Waits for the decision: whether to go on.
    public func pass() -> Bool {
        while unsafe sem_wait(semaphore) != 0 {}  // EINTR
        return decision.load(ordering: .acquiring) == .goOn
    }

    /// Lets the waiting thread go on, or tells it to give up. Later calls change nothing.
    public func decide(goOn: Bool) {
        let (first, _) = decision.compareExchange(
            expected: .none, desired: goOn ? .goOn : .giveUp, ordering: .acquiringAndReleasing)
        if first { unsafe sem_post(semaphore) }
    }
}
