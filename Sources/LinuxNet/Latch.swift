// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A door that one thread waits behind, without using the CPU, until another opens it.
@safe public struct Latch: ~Copyable, @unchecked Sendable {
    // SAFETY: initialised in init, destroyed in deinit; the owner keeps the latch until the waiting
    // thread has ended. sem_t may be used by several threads at once (sem_overview(7)).
    private let semaphore: UnsafeMutablePointer<sem_t>

    public init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Lets the waiting thread pass, now or when it comes.
    public borrowing func open() { unsafe sem_post(semaphore) }

    /// Returns once the latch has been opened.
    ///
    /// - Precondition: called once.
    public borrowing func wait() {
        while unsafe sem_wait(semaphore) != 0, errno == EINTR {}
    }
}
