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
    /// Whether the first change takes over from another process, which continues if that change fails.
    let hasOldProcess: Bool

    let queue = SerialQueue()
    private var goal = Goal()
    private var slowStart = SlowStart()
    /// Sends the signal when the next share rises.
    private var rise: Task<Void, Never>?
    private var isPaused = false
    /// Why the last change of the inputs was not applied; nil if it was.
    private var inputFailure: String?
    public private(set) var view: StateView
    var active: DesiredState { view.active }

    /// Changes of the inputs within this time are applied together.
    private static let gathering = Duration.milliseconds(25)
    private static let retryDelay = Duration.seconds(1)

    /// - Parameters:
    ///   - planes: at most one of each mode.
    ///   - discovery: finds receivers; nil: listeners have only those of the configuration.
    ///   - health: checks receivers; nil: every receiver counts as healthy.
    ///   - signal: the signal that `discovery` and `health` were created with.
    ///   - drains: the receivers that are drained from the start.
    ///   - hasOldProcess: whether the first change takes over from another process.
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

    /// Applies a configuration, after changes that were requested earlier.
    ///
    /// - Returns: what changed, over all planes.
    /// - Throws: the `HealthError` or `PlaneError` of the first failure. Planes that had already changed are rolled
    ///   back, and the previous state is active.
    @discardableResult
    public func apply(
        _ state: DesiredState, health: HealthChecks = HealthChecks()
    ) async throws -> Change {
        try await queue.run { try await apply(Goal(state: state, health: health)) }
    }

    /// The state that `apply` would make active. Health checks follow it from now on.
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

    /// - Returns: whether the state may have changed.
    private func takeInputs() async -> Bool {
        let isFound = await discovery?.takeFound() ?? false
        let isProbed = await health?.takeReports() ?? false
        return isFound || isProbed || slowStart.next.map { $0 <= now() } ?? false
    }

    /// - Returns: false if it failed; the failure is logged and nothing has changed.
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

    /// Computes the active state from the current inputs.
    private func resolve(_ goal: Goal) async throws(HealthError) -> Resolved {
        let discovered = await discovery?.view() ?? DiscoveryView()
        let found = goal.state.applying(discovered)
        try await health?.follow(goal.health, found)
        let healthy = found.applying(view.drains)
            .applying(await health?.view() ?? HealthView())
            .withStandbys()
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

    /// Stops every listener; what they had received is forwarded or counted first.
    ///
    /// - Parameter modes: planes whose programs continue until another process takes them over.
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

    /// Logs one line for each listener whose receivers changed.
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
}

/// The states that the reconciler derives from its inputs, at one moment.
public struct StateView: Equatable, Sendable {
    /// What the configuration wants.
    public internal(set) var configured = DesiredState()
    /// The same with the receivers and addresses from discovery.
    public internal(set) var found = DesiredState()
    /// What the data planes do: the same with drains, health and slow start.
    public internal(set) var active = DesiredState()
    public internal(set) var drains = DrainList()
    /// Subjects with neither an answer nor last-known receivers.
    public internal(set) var unknown: Set<DiscoverySubject> = []
}

// How the planes get from one state to the next: all of them, or none.

extension Reconciler {
    /// No resource moves between planes, so none waits for another. Packets go to the new receivers at about the
    /// same moment in every mode.
    ///
    /// - Returns: the state, with its slot tables.
    func moveTogether(
        to desired: DesiredState
    ) async throws(PlaneError) -> DesiredState {
        let (planes, active) = (planes, active)
        let tables = Task { await Self.withTables(desired, after: active) }
        let errors = await withTaskGroup(of: (Int, PlaneError?).self) { group in
            for (place, plane) in planes.enumerated() {
                group.addTask {
                    await plane.anticipate(Self.change(for: plane, from: active, to: desired))
                    let desired = await tables.value
                    do throws(PlaneError) {
                        try await Self.move(plane, from: active, to: desired)
                        return (place, nil)
                    } catch {
                        return (place, error)
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let desired = await tables.value
        guard let first = errors.min(by: { $0.key < $1.key }) else { return desired }
        let reached = planes.indices.map { errors[$0] == nil ? desired : active }
        await rollBack(reached, inverting: Array(planes.indices))
        throw first.value
    }

    /// Whether the next change takes over from another process.
    private var isTakingOver: Bool { hasOldProcess && active.listeners.isEmpty }

    /// A mode change is make-before-break: the old listener stops once the new one runs.
    func movePlaneByPlane(to desired: DesiredState) async throws(PlaneError) {
        var steps = desired.steps(from: active)
        // What another process has passed is taken over in one step; that process continues if it fails.
        if !isTakingOver {
            try await check(desired)
            do throws(PlaneError) {
                for step in steps.dropLast() { try await check(step) }
            } catch {
                logger.info(
                    "old and new listeners cannot coexist; changing in one step",
                    metadata: ["error": "\(error)"])
                steps = [desired]
            }
        }
        warnOfGaps(steps)
        try await move(by: steps)
    }

    private func warnOfGaps(_ steps: [DesiredState]) {
        for (previous, next) in zip([active] + steps, steps) {
            let early = next.leavingEarly(from: previous)
            guard !early.isEmpty else { continue }
            logger.warning(
                "listeners stop before their replacements in other modes start; there may be a gap",
                metadata: ["listeners": "\(early.map(\.name).sorted().joined(separator: ","))"])
        }
    }

    private func check(_ desired: DesiredState) async throws(PlaneError) {
        for plane in planes {
            let change = Self.change(for: plane, from: active, to: desired)
            if !change.isEmpty { try await plane.check(change) }
        }
    }

    /// All of the steps or none.
    private func move(by steps: [DesiredState]) async throws(PlaneError) {
        var reached = planes.map { _ in active }
        var previous = active
        for step in steps {
            let order = moveOrder(from: previous, to: step)
            for (turn, place) in order.enumerated() {
                do throws(PlaneError) {
                    try await Self.move(planes[place], from: reached[place], to: step)
                } catch {
                    if isTakingOver {
                        for place in order[..<turn] { await planes[place].relinquish() }
                    } else {
                        await rollBack(reached, inverting: order)
                    }
                    throw error
                }
                reached[place] = step
            }
            previous = step
        }
    }

    /// The planes in the order of the move: a plane that releases a hook comes before the one that takes it.
    private func moveOrder(from previous: DesiredState, to next: DesiredState) -> [Int] {
        let yielding = next.modesYieldingHooks(from: previous)
        let isFirst = planes.map { yielding.contains(type(of: $0).mode) }
        return planes.indices.filter { isFirst[$0] } + planes.indices.filter { !isFirst[$0] }
    }

    private static func change(
        for plane: any DataPlane, from old: DesiredState, to new: DesiredState
    ) -> Change {
        let mode = type(of: plane).mode
        return Change.diff(from: old.carried(by: mode), to: new.carried(by: mode))
    }

    private static func move(
        _ plane: any DataPlane, from old: DesiredState, to new: DesiredState
    ) async throws(PlaneError) {
        let change = change(for: plane, from: old, to: new)
        if !change.isEmpty { try await plane.apply(change) }
    }

    /// - Parameters:
    ///   - reached: the current state of each plane.
    ///   - order: the order in which they moved.
    private func rollBack(_ reached: [DesiredState], inverting order: [Int]) async {
        for place in order.reversed() {
            let plane = planes[place]
            do throws(PlaneError) {
                try await Self.move(plane, from: reached[place], to: active)
            } catch {
                logger.error(
                    "rollback failed",
                    metadata: [
                        "mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)",
                    ])
            }
        }
    }

    /// The state with slot tables. Each table is built once, however many listeners and planes use it, and not at
    /// all if it is already active. Different tables are built in parallel.
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
