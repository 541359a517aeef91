// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The clock for deadlines of `Latch`: it never jumps, and stops while the machine sleeps (clock_gettime(2),
/// CLOCK_MONOTONIC).
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary moment before the process began.
    public static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// The time of day. Use ContinuousClock for intervals.
public struct WallClock: Sendable {
    /// Since 1970-01-01 UTC.
    public let seconds: Int64
    /// 0..<1_000_000_000.
    public let nanoseconds: Int64

    public init(nanosecondsSinceEpoch: UInt64) {
        seconds = Int64(nanosecondsSinceEpoch / 1_000_000_000)
        nanoseconds = Int64(nanosecondsSinceEpoch % 1_000_000_000)
    }

    private init(seconds: Int64, nanoseconds: Int64) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public static var now: WallClock {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return WallClock(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    public var secondsSinceEpoch: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

    /// RFC 3339 in UTC with milliseconds: `2026-11-21T22:10:15.042Z`.
    public var rfc3339: String {
        var whole = time_t(seconds)
        var parts = unsafe tm()
        unsafe gmtime_r(&whole, &parts)
        func two(_ number: some BinaryInteger) -> String {
            number < 10 ? "0\(number)" : "\(number)"
        }
        let milliseconds = nanoseconds / 1_000_000
        let fraction = String(String(milliseconds + 1000).dropFirst())
        let (year, month, day) = unsafe (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        return "\(year)-\(two(month))-\(two(day))T"
            + "\(two(hour)):\(two(minute)):\(two(second)).\(fraction)Z"
    }
}
