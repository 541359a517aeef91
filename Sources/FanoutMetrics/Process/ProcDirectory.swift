// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads /proc with the C library: Foundation's file reading is not worth its weight here.
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

    /// Time that the machine has been up, suspended time included (clock_gettime(2), CLOCK_BOOTTIME).
    static var secondsSinceBoot: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The first 4095 bytes of a file; nil when it cannot be read. /proc answers one read with a whole
    /// line, and no line that is asked for here is longer.
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

    /// How many entries a directory has, `.` and `..` aside; nil when it cannot be read.
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
