// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// What holds for the process as a whole.
public enum ThisProcess {
    /// Raises the soft limit of open files to the hard one, which any process may do: each worker has
    /// a socket for each receiver, and the usual soft limit is 1024 (getrlimit(2)).
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

    /// Has the kernel make room for so many descriptors: 8 bytes each. It does so by itself when one is
    /// opened beyond the end of the table, but doubles it then, and lets a process of several threads wait
    /// each time until no thread reads the old table (fs/file.c, expand_fdtable): some tens of
    /// milliseconds, four times over for the sockets of 1 000 receivers.
    private static func growDescriptorTable(to count: UInt64) {
        let far = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, Int32(clamping: count) - 1)
        if far >= 0 { _ = Glibc.close(far) }
    }

    /// Has all threads share two heaps from now on. As it is, glibc gives nearly every thread one of its own
    /// (eight a CPU, malloc(3)), where what is freed stays resident: over an hour of comings and goings a
    /// process grows by some unused megabytes. Only configuration changes wait for memory; the hot paths
    /// allocate nothing.
    public static func shareHeaps() { cnet_limit_heaps(2) }

    /// Gives the pages of the heaps that are free back to the kernel, which glibc does for those at a heap's end
    /// alone. Allocations meanwhile wait, a few milliseconds at most.
    public static func trimHeaps() { cnet_trim_heaps() }

    /// Descriptors that are kept from the data planes: for the connections of the metrics server, the
    /// configuration file, and what the runtime opens behind our back and cannot do without.
    private static let reserve: rlim_t = 96

    /// While it is on, opening a descriptor fails with EMFILE before the last ones are gone. It is meant
    /// for the opening of many sockets, so that too many of them are an error and not the end.
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

    /// Whose rights the process has (geteuid(2)); 0 is root.
    public static var effectiveUser: UInt32 { geteuid() }

    /// The number of the process.
    public static var number: Int32 { getpid() }

    /// Whether there is a file of that name, which another user may own; true as well when the folder keeps this user
    /// from looking.
    public static func canSee(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0 || errno == EACCES
    }

    /// Closes a descriptor that has no owner, such as one that another process has passed.
    public static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

    /// Ends the process at once, with nothing flushed and nothing waited for.
    public static func exitNow(_ code: Int32) -> Never { _exit(code) }
}

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
