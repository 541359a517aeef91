// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc
internal import Synchronization

/// Wakes the plane when the network has changed: interfaces, addresses, routes and neighbours.
package final class NetworkWatch: Sendable {
    private let monitor: NetlinkMonitor
    /// Where features are followed and the kernel tells of them.
    private let featureMonitor: NetlinkMonitor?
    private let beginning: ContinuousClock.Instant
    private let task: Task<Void, Never>

    /// How long events are gathered before the plane looks: a change most often makes several.
    static let patience = Duration.milliseconds(50)
    /// How long after an event a look may still have seen what was before: the kernel tells of some changes just
    /// before it makes them (`fib_table_delete` in net/ipv4/fib_trie.c, `__dev_notify_flags` in
    /// net/core/dev.c).
    private static let delay = patience / 2
    /// When to try again what did not work out.
    private static let retry = Duration.seconds(1)

    private let interest: Interest
    private let hint: AsyncStream<Void>.Continuation

    /// What changes after this has returned is told.
    ///
    /// - Parameters:
    ///   - mindsFeatures: whether what drivers can do with frames of XDP matters (`XDPFeatures`).
    ///   - keepsRoutes: whether answers about routes are kept that no view shows.
    ///   - follow: looks, and follows what it sees; returns false when that did not work out,
    ///     and is asked again then. Never runs twice at once. A look since the moment that it is given, which is
    ///     some time after the last event, will do. Not called for events of what `looked` has not told of.
    /// - Throws: `PlaneError` when the kernel does not tell.
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

    /// Takes note of what a plane has looked at; other things' events are passed over from now on.
    package func looked(at view: NetworkView) {
        if interest.follow(view) { hint.yield() }
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

/// What the kernel last told of, as far as the plane minds it.
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

    /// - Returns: whether the plane is to look.
    func follow(_ view: NetworkView) -> Bool {
        state.withLock { $0.add($0.interest.follow(view)) }
    }

    /// - Returns: whether the plane is to look.
    func note(_ event: NetlinkEvent) -> Bool {
        state.withLock { $0.add($0.interest.effect(of: event)) }
    }

    /// The change to follow, and since when.
    func take() -> (change: NetworkChange, moment: ContinuousClock.Instant) {
        state.withLock { state in
            defer { state.change = .none }
            return (state.change, state.moment)
        }
    }
}

extension PlaneError {
    /// A listener's interface is not there.
    fileprivate init(noInterface listener: Listener, among interfaces: [HostInterface]) {
        let names = interfaces.map(\.name).joined(separator: ", ")
        self.init(
            operation: "attach",
            subject: "listener \(listener.name) to interface \(listener.interface ?? "")",
            code: ENODEV, reason: "there is no such interface",
            remedy: "write one of those that exist: \(names)")
    }

    /// The kernel does not tell about the network.
    package init(looking error: NetlinkError) {
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno,
            reason: error.reason, remedy: error.remedy)
    }
}

extension NetworkView {
    /// That of every listener which a change brings has to be there; others may wait for theirs to come back.
    package func checkInterfaces(of change: Change) throws(PlaneError) {
        for listener in change.added + change.replaced.map(\.to)
        where interface(named: listener.interface) == nil {
            throw PlaneError(noInterface: listener, among: interfaces)
        }
    }
}
