// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

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

/// The newest of values that come in bursts: one for each burst.
final class Burst<Value: Sendable>: Sendable {
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let content = Mutex(Content())

    private struct Content {
        var newest: Value?
        /// How many were ever put in.
        var count: UInt64 = 0
        var isEnd = false
    }

    init() {
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// - Parameter isEnd: nothing comes with this one that is worth to be waited for.
    func put(_ value: Value, isEnd: Bool) {
        content.withLock { $0 = Content(newest: value, count: $0.count + 1, isEnd: isEnd) }
        arrived.yield()
    }

    /// Hands on the newest value when none has come for `quiet`, or `limit` after the first at the latest;
    /// until the task is cancelled.
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
