// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

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
