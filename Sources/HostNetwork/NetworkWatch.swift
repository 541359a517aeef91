// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Netlink
internal import Synchronization

/// Has somebody look at the network again whenever it has changed: interfaces come and go, and so do
/// addresses, routes and neighbours.
package final class NetworkWatch: Sendable {
    private let monitor: NetlinkMonitor
    /// Where features are followed and the kernel tells of them.
    private let featureMonitor: NetlinkMonitor?
    private let beginning: ContinuousClock.Instant
    private let task: Task<Void, Never>

    /// How long events are gathered before somebody looks: a change most often makes several.
    static let patience = Duration.milliseconds(50)
    /// How long after an event a look may still have seen what was before: the kernel tells of some changes just
    /// before it makes them (`fib_table_delete` in net/ipv4/fib_trie.c, `__dev_notify_flags` in
    /// net/core/dev.c).
    private static let delay = patience / 2
    /// When to try again what did not work out.
    private static let retry = Duration.seconds(1)

    /// What changes after this has returned is told.
    ///
    /// - Parameters:
    ///   - mindsFeatures: whether what drivers can do with frames of XDP matters (`XDPFeatures`).
    ///   - follow: looks, and follows what it sees; returns false when that did not work out,
    ///     and is asked again then. Never runs twice at once. A look since the moment that it is given, which is
    ///     some time after the last event, will do.
    /// - Throws: `PlaneError` when the kernel does not tell.
    package init(
        mindsFeatures: Bool = false,
        follow: @escaping @Sendable (ContinuousClock.Instant) async -> Bool
    ) throws(PlaneError) {
        let (events, hint) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let lastEvent = LastEvent()
        let note: @Sendable (NetlinkEvent) -> Void = { _ in
            lastEvent.moment.withLock { $0 = .now }
            hint.yield()
        }
        do throws(NetlinkError) {
            monitor = try NetlinkMonitor(body: note)
            if mindsFeatures, let netdev = try Netdev() {
                featureMonitor = try NetlinkMonitor(netdev, body: note)
            } else {
                featureMonitor = nil
            }
        } catch {
            throw PlaneError(looking: error)
        }
        beginning = .now
        task = Task {
            for await _ in events {
                guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
                while await !follow(min(.now, lastEvent.moment.withLock { $0 } + Self.delay)) {
                    guard (try? await Task.sleep(for: Self.retry)) != nil else { return }
                }
            }
        }
    }

    deinit { stop() }

    /// How old an answer may be for who follows a change of receivers: what is true no more is told, and
    /// the network is followed no sooner.
    package var recently: ContinuousClock.Instant { max(beginning, .now - Self.patience) }

    /// Ends it. A look that is under way goes on to its end.
    package func stop() {
        task.cancel()
        monitor.stop()
        featureMonitor?.stop()
    }
}

/// When the kernel last told of something.
private final class LastEvent: Sendable {
    let moment = Mutex(ContinuousClock.Instant.now)
}
