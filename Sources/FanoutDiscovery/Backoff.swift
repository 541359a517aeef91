// SPDX-License-Identifier: Apache-2.0

/// How long to wait before the next attempt: longer with each failure, and never two callers for the same
/// time, so that many of them do not come back at once.
struct Backoff: Sendable {
    /// After the first failure.
    let base: Duration
    let longest: Duration
    private var failures = 0

    init(base: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
        self.base = base
        self.longest = longest
    }

    /// The next wait: a random time from half of `base` × 2ⁿ to all of it, n being the failures before,
    /// up to `longest`.
    mutating func next() -> Duration {
        let doubled = base * (1 << min(failures, 16))
        failures += 1
        return min(doubled, longest) * Double.random(in: 0.5...1)
    }

    /// An attempt has succeeded.
    mutating func reset() { failures = 0 }
}
