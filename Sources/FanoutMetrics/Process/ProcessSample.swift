// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet

/// The resource usage of this process, from /proc/self.
public struct ProcessSample: Equatable, Sendable {
    /// Resident memory.
    public var residentBytes: UInt64
    public var virtualBytes: UInt64
    public var openFDs: UInt64
    /// The limit of open files.
    public var maxFDs: UInt64
    /// Seconds since 1970-01-01 UTC.
    public var startTimeSeconds: Double
    /// User and system time since the process started.
    public var cpuSeconds: Double

    public init(
        residentBytes: UInt64, virtualBytes: UInt64, openFDs: UInt64, maxFDs: UInt64,
        startTimeSeconds: Double, cpuSeconds: Double
    ) {
        self.residentBytes = residentBytes
        self.virtualBytes = virtualBytes
        self.openFDs = openFDs
        self.maxFDs = maxFDs
        self.startTimeSeconds = startTimeSeconds
        self.cpuSeconds = cpuSeconds
    }

    /// Reads one line of /proc/PID/stat (proc_pid_stat(5)).
    ///
    /// - Parameters:
    ///   - stat: the line.
    ///   - openFDs: the number of entries in /proc/PID/fd.
    ///   - maxFDs: the limit of open files.
    ///   - pageBytes: the size of a memory page, in which field 24 is given.
    ///   - ticksPerSecond: the clock in which fields 14, 15 and 22 are given, above 0.
    ///   - bootTimeSeconds: when the machine started, seconds since 1970-01-01 UTC; field 22 counts from there.
    /// - Returns: nil if the line has another format.
    public init?(
        stat: String, openFDs: UInt64, maxFDs: UInt64, pageBytes: UInt64, ticksPerSecond: UInt64,
        bootTimeSeconds: Double
    ) {
        // Field 2 is the program's name in parentheses and may contain blanks and parentheses.
        guard ticksPerSecond > 0, let nameEnd = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: nameEnd)...].split(whereSeparator: \.isWhitespace)
        let firstField = 3
        guard fields.count > 24 - firstField,
            let userTicks = UInt64(fields[14 - firstField]),
            let systemTicks = UInt64(fields[15 - firstField]),
            let startTicks = UInt64(fields[22 - firstField]),
            let virtualBytes = UInt64(fields[23 - firstField]),
            let residentPages = UInt64(fields[24 - firstField])
        else { return nil }
        residentBytes = residentPages * pageBytes
        self.virtualBytes = virtualBytes
        self.openFDs = openFDs
        self.maxFDs = maxFDs
        startTimeSeconds = bootTimeSeconds + Double(startTicks) / Double(ticksPerSecond)
        cpuSeconds = Double(userTicks + systemTicks) / Double(ticksPerSecond)
    }

    /// This process, now; nil if /proc is not mounted. Does not block: /proc is memory.
    public static func current() -> ProcessSample? {
        guard let stat = ProcDirectory.text(of: "/proc/self/stat"),
            let entries = ProcDirectory.entryCount(of: "/proc/self/fd")
        else { return nil }
        // Without the descriptor that read the directory.
        let openFDs = UInt64(entries) - min(UInt64(entries), 1)
        return ProcessSample(
            stat: stat, openFDs: openFDs, maxFDs: ProcDirectory.maxFDs,
            pageBytes: ProcDirectory.pageBytes, ticksPerSecond: ProcDirectory.ticksPerSecond,
            bootTimeSeconds: bootTime)
    }

    /// Read once, so that the start time does not change with the time of day.
    private static let bootTime =
        (WallClock.now.secondsSinceEpoch - ProcDirectory.secondsSinceBoot).rounded()
}

/// Reads /proc with the C library, to avoid a dependency on Foundation.
enum ProcDirectory {
    /// The size of a memory page in bytes.
    static var pageBytes: UInt64 { UInt64(clamping: sysconf(Int32(_SC_PAGESIZE))) }

    /// The unit of the times in /proc/PID/stat (`USER_HZ`).
    static var ticksPerSecond: UInt64 { UInt64(clamping: sysconf(Int32(_SC_CLK_TCK))) }

    /// The soft limit of open files (getrlimit(2)).
    static var maxFDs: UInt64 {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return UInt64(limit.rlim_cur)
    }

    /// Uptime of the machine, including suspended time (clock_gettime(2), CLOCK_BOOTTIME).
    static var secondsSinceBoot: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The first 4095 bytes of a file; nil if it cannot be read. One read of /proc returns a whole line, and the
    /// lines read here are shorter.
    static func text(of path: String) -> String? {
        // SAFETY: the string's bytes end in 0 and live until the call returns.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4095)
        // SAFETY: the kernel writes at most the buffer's size, while the buffer is borrowed.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe read(file, buffer.baseAddress, buffer.count)
        }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    /// The number of entries of a directory, without `.` and `..`; nil if it cannot be read.
    static func entryCount(of path: String) -> Int? {
        // SAFETY: the string's bytes end in 0 and live until the call returns.
        guard let directory = unsafe opendir(path) else { return nil }
        // SAFETY: the stream is open, used by this thread only, and not used after closedir; the
        // entries' memory is never looked at.
        defer { unsafe closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        return max(count - 2, 0)
    }
}
