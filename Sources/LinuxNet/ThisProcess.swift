// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Settings of the whole process.
public enum ThisProcess {
    /// Raises the soft limit of open files to the hard one, which needs no privilege: each worker has a socket for each
    /// receiver, and the usual soft limit is 1024 (getrlimit(2)).
    ///
    /// - Returns: the active limit.
    @discardableResult
    public static func raiseOpenFiles() -> UInt64 {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let result = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
        let active = UInt64(result == 0 ? raised.rlim_cur : limit.rlim_cur)
        growDescriptorTable(to: min(active, 16_384))
        return active
    }

    /// Makes the kernel allocate a table for this many descriptors, 8 bytes each. Otherwise it doubles the table each
    /// time that it is full, and a process with several threads then waits until no thread reads the old table
    /// (fs/file.c, expand_fdtable): some tens of milliseconds, four times for the sockets of 1 000 receivers.
    private static func growDescriptorTable(to count: UInt64) {
        let far = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, Int32(clamping: count) - 1)
        if far >= 0 { _ = Glibc.close(far) }
    }

    /// Makes all threads share two heaps from now on. By default glibc gives nearly every thread its own heap (eight a
    /// CPU, malloc(3)), where freed memory stays resident: over an hour of changes a process grows by some unused
    /// megabytes. Only configuration changes wait for memory; the hot paths allocate nothing.
    public static func shareHeaps() { cnet_limit_heaps(2) }

    /// Returns free pages of the heaps to the kernel; glibc itself does that only at a heap's end. Allocations wait
    /// meanwhile, a few milliseconds at most.
    public static func trimHeaps() { cnet_trim_heaps() }

    /// Descriptors that the data planes may not use: for connections of the metrics server, the configuration file, and
    /// the Swift runtime.
    private static let reserve: rlim_t = 96

    /// While it is on, opening a descriptor fails with EMFILE while some are still in reserve. It is for opening many
    /// sockets, so that too many of them are an error and do not crash the process.
    public static func keepReserve(_ isOn: Bool) {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max - (isOn ? min(reserve, limit.rlim_max / 2) : 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Whether it may raise its limit of locked memory (RLIMIT_MEMLOCK) to any amount.
    public static var mayLockAllMemory: Bool {
        var limit = rlimit()
        // SAFETY: the call writes the limit before it returns.
        let result = unsafe getrlimit(__rlimit_resource_t(8), &limit)
        return result == 0 && limit.rlim_max == rlim_t.max
    }

    /// The name of the host (gethostname(2)).
    public static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 65)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        return String(
            decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The effective uid (geteuid(2)); 0 is root.
    public static var effectiveUser: UInt32 { geteuid() }

    /// The number of the process.
    public static var number: Int32 { getpid() }

    /// The number of the process that started this one, or of the one that has inherited it (getppid(2)).
    public static var parent: Int32 { getppid() }

    /// Whether the file exists, for any owner; also true when this user may not search its folder.
    public static func canSee(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0 || errno == EACCES
    }

    /// Closes a descriptor that has no owner, such as one that another process has passed.
    public static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    /// Ends the process at once, without flushing or waiting.
    public static func exitNow(_ code: Int32) -> Never { _exit(code) }
}

extension ThisProcess {
    /// Checks that this many more descriptors and threads are available at a time. The runtime and its libraries crash
    /// the process when there are none.
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
