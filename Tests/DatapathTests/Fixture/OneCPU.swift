// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// Runs `body` with this thread on one CPU, so that per-CPU counters form one sequence.
///
/// - Parameter last: whether to take the last CPU that the thread may use, rather than the first.
@discardableResult
func onOneCPU<Value>(last: Bool = false, _ body: () throws -> Value) throws -> Value {
    // The C library's headers hide it without _GNU_SOURCE.
    typealias Affinity = @convention(c) (pid_t, Int, UnsafeMutableRawPointer) -> Int32
    let get = unsafeBitCast(dlsym(nil, "sched_getaffinity"), to: Affinity.self)
    let set = unsafeBitCast(dlsym(nil, "sched_setaffinity"), to: Affinity.self)
    var all = [UInt64](repeating: 0, count: 16)
    let size = all.count * MemoryLayout<UInt64>.size
    try #require(get(0, size, &all) >= 0)
    let word = try #require(last ? all.lastIndex { $0 != 0 } : all.firstIndex { $0 != 0 })
    var one = [UInt64](repeating: 0, count: all.count)
    one[word] =
        1 << (last ? 63 - all[word].leadingZeroBitCount : all[word].trailingZeroBitCount)
    try #require(set(0, size, &one) == 0)
    defer { _ = set(0, size, &all) }
    return try body()
}
