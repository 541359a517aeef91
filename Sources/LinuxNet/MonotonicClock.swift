// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The clock that deadlines of `Latch` refer to: it never jumps, and stands still while the machine
/// sleeps (clock_gettime(2), CLOCK_MONOTONIC).
public enum MonotonicClock {
    /// Nanoseconds since some moment before the process began.
    public static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
