// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc
internal import Synchronization

/// Wakes the plane when the network has changed: interfaces, addresses, routes and neighbours.
package final class NetworkWatch: Sendable {
    private let monitor: NetlinkMonitor
    /// The monitor of features, where they matter and the kernel reports them.
    private let featureMonitor: NetlinkMonitor?
    private let beginning: ContinuousClock.Instant
    private let task: Task<Void, Never>

    /// How long events are gathered: a change usually makes several.
    static let patience = Duration.milliseconds(50)
    /// How long after an event a reading may still show the previous state: the kernel reports some changes just
    /// before it makes them (`fib_table_delete` in net/ipv4/fib_trie.c, `__dev_notify_flags` in net/core/dev.c).
    private static let delay = patience / 2
    /// When to retry after a failure.
    private static let retry = Duration.seconds(1)

    private let interest: Interest
    private let hint: AsyncStream<Void>.Continuation

    /// Starts to watch; every change after this has returned is reported.
    ///
    /// - Parameters:
    ///   - mindsFeatures: whether the XDP features of drivers matter (`XDPFeatures`).
    ///   - keepsRoutes: whether routes outside of views are cached.
    ///   - follow: reads the network and applies it; returns false on failure, and is retried then. Never runs twice at
    ///     once. A reading since the given moment, which is some time after the last event, is new enough. Not called
    ///     for events about entries that were not passed to `looked`.
    /// - Throws: `PlaneError` when the kernel cannot report changes.
    package init(
        mindsFeatures: Bool = false, keepsRoutes: Bool = false,
        follow: @escaping @Sendable (ContinuousClock.Instant, NetworkChange) async -> Bool
    ) throws(PlaneError) {
        let (events, hint) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let interest = Interest(keepsRoutes: keepsRoutes)
        self.interest = interest
        self.hint = hint
        let note: @Sendable (NetlinkEvent) -> Void = { event in
            if interest.note(event) { hint.yield() }
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
                var (change, moment) = interest.take()
                while await !follow(min(.now, moment + Self.delay), change) {
                    guard (try? await Task.sleep(for: Self.retry)) != nil else { return }
                    let more = interest.take()
                    (change, moment) = (max(change, more.change), max(moment, more.moment))
                }
            }
        }
    }

    /// Records what a plane has read; events about other entries are ignored from now on.
    package func looked(at view: NetworkView) {
        if interest.follow(view) { hint.yield() }
    }

    deinit { stop() }

    /// The maximum age of results for a change of receivers: later changes are reported, and the network is not
    /// followed sooner.
    package var recently: ContinuousClock.Instant { max(beginning, .now - Self.patience) }

    /// Stops it. A running `follow` completes.
    package func stop() {
        task.cancel()
        monitor.stop()
        featureMonitor?.stop()
    }
}

/// The last reported changes that matter to the plane.
private final class Interest: Sendable {
    private struct State {
        var interest: NetworkInterest
        var change = NetworkChange.none
        var moment = ContinuousClock.Instant.now

        mutating func add(_ more: NetworkChange) -> Bool {
            guard more > .none else { return false }
            change = max(change, more)
            moment = .now
            return true
        }
    }

    private let state: Mutex<State>

    init(keepsRoutes: Bool) {
        state = Mutex(State(interest: NetworkInterest(keepsRoutes: keepsRoutes)))
    }

    /// - Returns: whether the plane must read the network.
    func follow(_ view: NetworkView) -> Bool {
        state.withLock { $0.add($0.interest.follow(view)) }
    }

    /// - Returns: whether the plane must read the network.
    func note(_ event: NetlinkEvent) -> Bool {
        state.withLock { $0.add($0.interest.effect(of: event)) }
    }

    /// The change to follow, and its moment.
    func take() -> (change: NetworkChange, moment: ContinuousClock.Instant) {
        state.withLock { state in
            defer { state.change = .none }
            return (state.change, state.moment)
        }
    }
}

extension PlaneError {
    /// The error for a missing interface of a listener.
    fileprivate init(noInterface listener: Listener, among interfaces: [HostInterface]) {
        let names = interfaces.map(\.name).joined(separator: ", ")
        self.init(
            operation: "attach",
            subject: "listener \(listener.name) to interface \(listener.interface ?? "")",
            code: ENODEV, reason: "there is no such interface",
            remedy: "set one of those that exist: \(names)")
    }

    /// The error when the kernel does not report changes of the network.
    package init(looking error: NetlinkError) {
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno,
            reason: error.reason, remedy: error.remedy)
    }
}

extension NetworkView {
    /// Requires the interface of every added listener; other listeners may wait until theirs is back.
    package func checkInterfaces(of change: Change) throws(PlaneError) {
        for listener in change.added + change.replaced.map(\.to)
        where interface(named: listener.interface) == nil {
            throw PlaneError(noInterface: listener, among: interfaces)
        }
    }
}
