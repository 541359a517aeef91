// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The delay before the next attempt. It grows with each failure and is random, so that many callers do not retry
/// at once.
struct Backoff: Sendable {
    /// The upper limit of the first delay.
    let base: Duration
    let longest: Duration
    private var failures = 0

    init(base: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
        self.base = base
        self.longest = longest
    }

    /// The next delay: random between half of `base` × 2ⁿ and all of it, n being the failures before, up to
    /// `longest`.
    mutating func next() -> Duration {
        let doubled = base * (1 << min(failures, 16))
        failures += 1
        return min(doubled, longest) * Double.random(in: 0.5...1)
    }

    /// Resets after a successful attempt.
    mutating func reset() { failures = 0 }
}

/// Merges bursts of values: only the newest value of each burst is used.
final class Burst<Value: Sendable>: Sendable {
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let content = Mutex(Content())

    private struct Content {
        var newest: Value?
        /// The number of values so far.
        var count: UInt64 = 0
        var isEnd = false
    }

    init() {
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter isEnd: no further value of the burst is worth waiting for.
    func put(_ value: Value, isEnd: Bool) {
        content.withLock { $0 = Content(newest: value, count: $0.count + 1, isEnd: isEnd) }
        arrived.yield()
    }

    /// Passes on the newest value once none has come for `quiet`, at the latest `limit` after the first. Runs until
    /// the task is cancelled.
    func ends(after quiet: Duration, within limit: Duration, _ take: (Value) -> Void) async {
        for await _ in arrivals {
            let end = ContinuousClock.now + limit
            var before: UInt64?
            while case let now = content.withLock({ $0 }), now.count != before, !now.isEnd,
                .now < end
            {
                before = now.count
                guard (try? await Task.sleep(for: quiet)) != nil else { return }
            }
            let newest = content.withLock { content in
                defer { content.newest = nil }
                return content.newest
            }
            if let newest { take(newest) }
        }
    }
}
