// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension ThisProcess {
    /// Checks that so many more descriptors can be opened, and so many more threads started, all at a time. What the
    /// runtime and its libraries open for themselves ends the process when there are none.
    ///
    /// - Throws: `SystemError` EMFILE or ENFILE for descriptors, EAGAIN for threads.
    public static func expectRoom(descriptors: Int, threads: Int) throws(SystemError) {
        try expectDescriptors(descriptors)
        let gate = Latch()
        try expectThreads(threads, gate)
    }

    private static func expectDescriptors(_ count: Int) throws(SystemError) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else {
                // A limit of 3 or less (fcntl(2), F_DUPFD).
                throw SystemError("open", code: errno == EINVAL ? EMFILE : errno)
            }
            opened.append(descriptor)
        }
    }

    private static func expectThreads(_ count: Int, _ gate: Latch) throws(SystemError) {
        guard count > 0 else {
            gate.countDown()
            return
        }
        var failure: SystemError?
        let thread = try Thread(name: "trial") { gate.wait() }
        do throws(SystemError) {
            try expectThreads(count - 1, gate)
        } catch {
            failure = error
            gate.countDown()
        }
        thread.join()
        if let failure { throw failure }
    }
}
