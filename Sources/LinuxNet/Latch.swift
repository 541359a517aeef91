// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Opens once it has been counted down, and stays open. Any number of threads may wait for it, with or without a
/// deadline; checking it costs one load.
@safe public final class Latch: @unchecked Sendable {
    // SAFETY: both are initialised in init and destroyed in deinit, which runs when no thread holds a
    // reference any more, so none waits.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let remaining: Atomic<Int>

    /// - Parameter count: the calls of `countDown` that open it, at least 1.
    public init(count: Int = 1) {
        remaining = Atomic(count)
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    public var isOpen: Bool { remaining.load(ordering: .acquiring) <= 0 }

    /// Counts down by one. Does nothing once the latch is open.
    public func countDown() {
        unsafe pthread_mutex_lock(mutex)
        let (_, left) = remaining.wrappingSubtract(1, ordering: .acquiringAndReleasing)
        if left == 0 { unsafe pthread_cond_broadcast(condition) }
        if left < 0 { remaining.store(0, ordering: .releasing) }
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits until it is open, or until `MonotonicClock` shows `deadline`.
    ///
    /// - Parameter deadline: nanoseconds; nil: for ever.
    /// - Returns: whether it is open.
    @discardableResult
    public func wait(until deadline: Int64? = nil) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !isOpen {
            guard let deadline else {
                unsafe pthread_cond_wait(condition, mutex)
                continue
            }
            var time = timespec(
                tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
            let result = unsafe pthread_cond_timedwait(condition, mutex, &time)
            if result == ETIMEDOUT { return isOpen }
        }
        return true
    }
}

/// A thread waits here for another thread's decision, which is made once. Waiting uses no CPU.
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

    /// Lets the waiting thread go on or end. Later calls change nothing.
    public func decide(goOn: Bool) {
        let (first, _) = decision.compareExchange(
            expected: .none, desired: goOn ? .goOn : .giveUp, ordering: .acquiringAndReleasing)
        if first { unsafe sem_post(semaphore) }
    }
}
