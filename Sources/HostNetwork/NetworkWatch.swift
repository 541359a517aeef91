// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Netlink

/// Has somebody look at the network again whenever it has changed: interfaces come and go, and so do
/// addresses, routes and neighbours.
package final class NetworkWatch: Sendable {
    private let monitor: NetlinkMonitor
    private let task: Task<Void, Never>

    /// How long events are gathered before somebody looks: a change most often makes several.
    private static let patience = Duration.milliseconds(50)
    /// When to try again what did not work out.
    private static let retry = Duration.seconds(1)

    /// What changes after this has returned is told.
    ///
    /// - Parameter follow: looks, and follows what it sees; returns false when that did not work out,
    ///   and is asked again then. Never runs twice at once.
    /// - Throws: `PlaneError` when the kernel does not tell.
    package init(follow: @escaping @Sendable () async -> Bool) throws(PlaneError) {
        let (events, hint) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        do throws(NetlinkError) {
            monitor = try NetlinkMonitor { _ in hint.yield() }
        } catch {
            throw PlaneError(looking: error)
        }
        task = Task {
            for await _ in events {
                guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
                while await !follow() {
                    guard (try? await Task.sleep(for: Self.retry)) != nil else { return }
                }
            }
        }
    }

    deinit { stop() }

    /// Ends it. A look that is under way goes on to its end.
    package func stop() {
        task.cancel()
        monitor.stop()
    }
}
