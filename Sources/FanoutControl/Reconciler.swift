// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging

// The life of a configuration change:
//
//   configuration  discovery  drains  health  slow start
//         └────────────┴────────┴───────┴─────────┘
//                          resolve → Change.diff → DataPlane.apply → view
//
// The reconciler alone computes the active state, once per change. Status, metrics, readiness and explain read `view`.

/// Keeps the data planes at the desired state.
public actor Reconciler {
    /// What the configuration wants, before discovery, drains, health and slow start.
    struct Goal: Equatable {
        var state = DesiredState()
        var health = HealthChecks()
    }

    let planes: [any DataPlane]
    private let discovery: DiscoveryMonitor?
    private let health: HealthMonitor?
    private let signal: ChangeSignal
    let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    /// Whether the first change takes over what another process has, which keeps it when that change fails.
    let hasOldProcess: Bool

    let queue = SerialQueue()
    private var goal = Goal()
    private var slowStart = SlowStart()
    /// Sends the signal when a share rises next.
    private var rise: Task<Void, Never>?
    private var isPaused = false
    /// Why the last change of the inputs was not applied; nil when it was.
    private var inputFailure: String?
    public private(set) var view: StateView
    var active: DesiredState { view.active }

    /// Changes of the inputs within this time are applied together.
    private static let gathering = Duration.milliseconds(25)
    private static let retryDelay = Duration.seconds(1)

    /// - Parameters:
    ///   - planes: at most one of each mode.
    ///   - discovery: finds receivers; nil: listeners have those of the configuration alone.
    ///   - health: checks receivers; nil: every receiver counts as healthy.
    ///   - signal: the one that `discovery` and `health` were made with.
    ///   - drains: the receivers that are drained from the beginning.
    ///   - hasOldProcess: whether the first change takes over what another process has.
    ///   - now: the clock of the slow start.
    public init(
        planes: [any DataPlane], discovery: DiscoveryMonitor? = nil, health: HealthMonitor? = nil,
        signal: ChangeSignal = ChangeSignal(), drains: DrainList = DrainList(),
        hasOldProcess: Bool = false, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.planes = planes
        self.discovery = discovery
        self.health = health
        self.signal = signal
        self.logger = logger
        self.now = now
        self.hasOldProcess = hasOldProcess
        view = StateView(drains: drains)
    }

    /// Applies a configuration, after the changes that were called before.
    ///
    /// - Returns: what changed, over all planes.
    /// - Throws: the `HealthError` or `PlaneError` of the first failure. Planes that had changed by then have been rolled
    ///   back, and the previous state is active.
    @discardableResult
    public func apply(
        _ state: DesiredState, health: HealthChecks = HealthChecks()
    ) async throws -> Change {
        try await queue.run { try await apply(Goal(state: state, health: health)) }
    }

    /// The state that `apply` would make active. Health checks follow it from here on.
    public func preview(
        _ state: DesiredState, health: HealthChecks
    ) async throws -> DesiredState {
        try await queue.run { try await resolve(Goal(state: state, health: health)).active }
    }

    /// Adds receivers to the drained ones, or removes them.
    ///
    /// - Returns, throws: as `apply` does.
    @discardableResult
    public func drain(_ entries: Set<DrainList.Entry>, _ isDrained: Bool) async throws -> Change {
        try await queue.run {
            let previous = view.drains
            if isDrained {
                view.drains.entries.formUnion(entries)
            } else {
                view.drains.entries.subtract(entries)
            }
            do {
                return try await apply(goal)
            } catch {
                view.drains = previous
                throw error
            }
        }
    }

    /// Applies what discovery, health checks and slow start change, until the task is cancelled.
    public func run() async {
        async let _: Void? = discovery?.watchAddresses()
        await discovery?.keep()
        var isDue = false
        for await _ in signal.changes {
            if await takeInputs() { isDue = true }
            guard isDue, !isPaused else {
                scheduleRise()
                continue
            }
            isDue = await !applyInputs()
            let pause = isDue ? Self.retryDelay : Self.gathering
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            if isDue { signal.send() }
        }
    }

    /// Applies no change of the inputs until `resume`: another process is taking over.
    public func pause() { isPaused = true }

    public func resume() {
        isPaused = false
        signal.send()
    }

    /// - Returns: whether the state may be another one.
    private func takeInputs() async -> Bool {
        let isFound = await discovery?.takeFound() ?? false
        let isProbed = await health?.takeReports() ?? false
        return isFound || isProbed || slowStart.next.map { $0 <= now() } ?? false
    }

    /// - Returns: false when it failed, which has been logged, and everything is as before.
    private func applyInputs() async -> Bool {
        do {
            let (previous, current) = try await queue.run {
                let previous = view
                try await apply(goal)
                return (previous, view)
            }
            inputFailure = nil
            logMembership(from: previous, to: current)
            await discovery?.logFindings()
            await discovery?.keep()
            return true
        } catch {
            if inputFailure != "\(error)" {
                inputFailure = "\(error)"
                logger.error(
                    "a change of receivers or their health is not applied; retrying",
                    metadata: ["error": "\(error)"])
            }
            await discovery?.logFindings()
            return false
        }
    }

    private func scheduleRise() {
        rise?.cancel()
        rise = slowStart.next.map { next in
            let pause = min(max(next - now(), .milliseconds(5)), .milliseconds(250))
            return Task { [signal] in
                if (try? await Task.sleep(for: pause)) != nil { signal.send() }
            }
        }
    }

    private struct Resolved {
        let found: DesiredState
        let unknown: Set<DiscoverySubject>
        let active: DesiredState
        let slowStart: SlowStart
    }

    /// Computes the active state from all inputs as they are now.
    private func resolve(_ goal: Goal) async throws(HealthError) -> Resolved {
        let discovered = await discovery?.view() ?? DiscoveryView()
        let found = goal.state.applying(discovered)
        try await health?.follow(goal.health, found)
        let healthy = found.applying(view.drains)
            .applying(await health?.view() ?? HealthView())
        var slowStart = slowStart
        let active = slowStart.lay(over: healthy, at: now())
        return Resolved(
            found: found, unknown: goal.state.unknownSubjects(in: discovered), active: active,
            slowStart: slowStart)
    }

    /// Runs in the queue.
    @discardableResult
    private func apply(_ goal: Goal) async throws -> Change {
        let next = try await resolve(goal)
        let change = Change.diff(from: active, to: next.active)
        do throws(PlaneError) {
            view.active = try await move(to: next.active, change)
        } catch {
            await rollBackHealth()
            throw error
        }
        self.goal = goal
        view.configured = goal.state
        view.found = next.found
        view.unknown = next.unknown
        slowStart = next.slowStart
        scheduleRise()
        return change
    }

    private func rollBackHealth() async {
        do throws(HealthError) {
            try await health?.follow(goal.health, view.found)
        } catch {
            logger.error("health checks have ended", metadata: ["error": "\(error)"])
        }
    }

    /// - Returns: the state with its slot tables.
    private func move(
        to next: DesiredState, _ change: Change
    ) async throws(PlaneError) -> DesiredState {
        guard !change.isEmpty else { return active }
        ThisProcess.keepReserve(true)
        defer { ThisProcess.keepReserve(false) }
        if change.concernsReceiversAlone { return try await moveTogether(to: next) }
        let next = await Self.withTables(next, after: active)
        try await movePlaneByPlane(to: next)
        return next
    }

    /// One line for each listener whose receivers are others.
    private func logMembership(from previous: StateView, to current: StateView) {
        let change = Change.diff(from: previous.found, to: current.found)
        let ready = Dictionary(
            current.active.listeners.map { ($0.name, $0.downstreams.count(where: \.isReady)) }
        ) { $1 }
        for pair in change.retargeted + change.replaced {
            guard let source = pair.to.discovery?.receivers else { continue }
            let (before, after) = (Set(pair.from.downstreams), Set(pair.to.downstreams))
            logger.info(
                "\(pair.to.mode.rawValue) \(source.kind) membership updated",
                metadata: [
                    "listener": "\(pair.to.name)", "source": "\(source)",
                    "downstreams": "\(after.count)", "ready": "\(ready[pair.to.name] ?? 0)",
                    "added": "\(after.subtracting(before).count)",
                    "removed": "\(before.subtracting(after).count)",
                ])
        }
    }

    /// The counters of every listener, by name.
    public func counters() async -> [ListenerCounters] {
        var all: [ListenerCounters] = []
        for plane in planes { all += await plane.counters() }
        return all.sorted { $0.listener < $1.listener }
    }

    /// Has the planes send one datagram each to those of `receivers` that are out of service.
    public func tryOut(_ receivers: Set<Endpoint>) async {
        for plane in planes { await plane.tryOut(receivers) }
    }

    /// What the planes counted by receive queue.
    public func queueCounters() async -> [QueueCounters] {
        var all: [QueueCounters] = []
        for plane in planes { all += await plane.queueCounters() }
        return all.sorted { ($0.interface, $0.queue) < ($1.interface, $1.queue) }
    }

    /// What became of packets, by the planes' own names.
    public func events() async -> [String: UInt64] {
        var all: [String: UInt64] = [:]
        for plane in planes { all.merge(await plane.events()) { $0 &+ $1 } }
        return all
    }

    /// Packets that drivers did not take, by the interface.
    public func transmitErrors() async -> [String: UInt64] {
        var all: [String: UInt64] = [:]
        for plane in planes { all.merge(await plane.transmitErrors()) { $0 &+ $1 } }
        return all
    }

    /// Ends every listener; what they had received is forwarded or counted first.
    ///
    /// - Parameter modes: of planes whose programs go on until another process takes them over.
    public func stop(leaving modes: Set<ForwardingMode> = []) async -> [ListenerCounters] {
        await queue.run {
            for plane in planes where modes.contains(type(of: plane).mode) {
                await plane.relinquish()
            }
            var all: [ListenerCounters] = []
            for plane in planes { all += await plane.stop() }
            rise?.cancel()
            (goal, view) = (Goal(), StateView())
            return all.sorted { $0.listener < $1.listener }
        }
    }
}

/// What the reconciler has made of its inputs, at one moment.
public struct StateView: Equatable, Sendable {
    /// What the configuration wants.
    public internal(set) var configured = DesiredState()
    /// The same with the receivers and addresses that discovery has found.
    public internal(set) var found = DesiredState()
    /// What the data planes do: the same with drains, health and slow start.
    public internal(set) var active = DesiredState()
    public internal(set) var drains = DrainList()
    /// What has to be looked up and has no answer, nor last-known receivers.
    public internal(set) var unknown: Set<DiscoverySubject> = []
}

extension Reconciler {
    /// Whom a name means: receivers that are there, or that are drained and may come back.
    public func entries(named name: String) -> Set<DrainList.Entry> {
        let present = DrainList.entries(named: name, in: active)
        guard present.isEmpty else { return present }
        return view.drains.entries.filter { $0.description == name || $0.downstream == name }
    }

    /// What keeps datagrams from their way, over all planes.
    public func obstructions() async -> [Obstruction] {
        var all: [Obstruction] = []
        for plane in planes { all += await plane.obstructions() }
        return all
    }

    /// Where the data planes are hooked in.
    public func attachments() async -> [Attachment] {
        var all: [Attachment] = []
        for plane in planes { all += await plane.attachments() }
        return all
    }

    /// The receiver that a source of a listener stays with, where its plane remembers sources.
    public func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: Listener
    ) async -> Endpoint? {
        for plane in planes where type(of: plane).mode == listener.mode {
            return await plane.receiver(
                associatedWith: source, to: destination, of: listener.name)
        }
        return nil
    }

    /// What the workers of every data plane are doing.
    public func progress() async -> [WorkerProgress] {
        var all: [WorkerProgress] = []
        for plane in planes { all += await plane.progress() }
        return all
    }
}

extension Reconciler {
    /// Removes what killed daemons left in the kernel and no plane has taken over.
    public func removeLeftovers() async {
        await queue.run { for plane in planes { await plane.removeLeftovers() } }
    }

    /// Leaves everything to another process; see `DataPlane.relinquish`.
    ///
    /// - Parameter modes: of these planes.
    public func relinquish(_ modes: Set<ForwardingMode>) async {
        await queue.run {
            for plane in planes where modes.contains(type(of: plane).mode) {
                await plane.relinquish()
            }
        }
    }

    /// Undoes `relinquish`. A plane that cannot have back what it left is one of an error in the log, and
    /// keeps nobody else from going on.
    public func reclaim(_ modes: Set<ForwardingMode>) async {
        await queue.run {
            for plane in planes where modes.contains(type(of: plane).mode) {
                do throws(PlaneError) {
                    try await plane.reclaim()
                } catch {
                    logger.error(
                        "a plane cannot take back what it had left to another process",
                        metadata: [
                            "mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)",
                        ])
                }
            }
        }
    }
}

extension Reconciler {
    /// A state whose listeners have their slot tables at hand: each table is built once, however many listeners
    /// and planes have it, and not at all when it is in force already. Different ones are built beside one another.
    static func withTables(
        _ desired: DesiredState, after previous: DesiredState
    ) async -> DesiredState {
        let known = previous.tablesAtHand
        let wanted = desired.tableOrigins.subtracting(known.keys)
        let tables = await withTaskGroup(of: (TableOrigin, SlotTable).self) { group in
            for origin in wanted { group.addTask { (origin, origin.table) } }
            return await group.reduce(into: known) { $0[$1.0] = $1.1 }
        }
        return desired.having(tables)
    }
}
