// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Nothing came of it in 20 seconds.
struct NeverHappened: Error {}

/// Tries again and again until there is a value, for 20 seconds at most.
func eventually<Value>(_ attempt: () throws -> Value?) throws -> Value {
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
        if let value = try attempt() { return value }
        sched_yield()
    }
    throw NeverHappened()
}
