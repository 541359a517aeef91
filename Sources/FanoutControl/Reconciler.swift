// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

// The life of a configuration change:
//
//   inputs → DesiredState → Change.diff → DataPlane.apply → one log line
//
// The configuration hands over a whole desired state; discovery says who the receivers of listeners are
// that look theirs up, and health checks which downstreams are to get nothing for now. The difference to
// the state in force is a pure value; each plane carries its part out, all or nothing.

/// Keeps the data planes at the desired state.
public actor Reconciler {
    let planes: [any DataPlane]
    private let discovery: (any DiscoveryViewSource)?
    private let health: (any HealthSource)?
    let logger: Logger
    /// What the configuration wants: nobody found, and every downstream healthy.
    private(set) var wanted = DesiredState()
    private(set) var inForce = DesiredState()
    /// Who is out of service by hand.
    var drains: DrainList
    /// Whose share is still rising.
    private(set) var slowStart = SlowStart()
    /// One element for any number of changes since the last after which shares rise.
    let rises: AsyncStream<Void>
    private let risesBegan: AsyncStream<Void>.Continuation
    let now: @Sendable () -> ContinuousClock.Instant
    /// An actor lets others in while one waits for a plane, so changes take turns by hand.
    private var isBusy = false
    /// Whether a process before this one has what the planes take over, and takes it back if they cannot.
    private let hasPredecessor: Bool
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - planes: at most one of each mode.
    ///   - discovery: says who the receivers are of listeners that look theirs up; nil: nobody.
    ///   - health: says who is healthy; nil: everybody is. Both are asked in the turn of each change, so
    ///     that no change brings back what was known before another.
    ///   - drains: who is out of service by hand from the beginning.
    ///   - hasPredecessor: whether the first change takes over what another process has. When it fails the
    ///     planes leave that as it is.
    ///   - now: the clock by which shares rise.
    public init(
        planes: [any DataPlane], discovery: (any DiscoveryViewSource)? = nil,
        health: (any HealthSource)? = nil, drains: DrainList = DrainList(),
        hasPredecessor: Bool = false, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.now = now
        (rises, risesBegan) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.drains = drains
        self.hasPredecessor = hasPredecessor
        self.planes = planes
        self.discovery = discovery
        self.health = health
        self.logger = logger
    }

    /// Brings every plane to `desired`, once the changes that were asked for before are done.
    ///
    /// - Returns: what changed, over all planes.
    /// - Throws: the `PlaneError` of the plane that could not follow. The planes before it have then
    ///   been led back, and the state in force is the one before.
    @discardableResult
    public func apply(_ desired: DesiredState) async throws(PlaneError) -> Change {
        await begin()
        defer { finish() }
        let total = try await lead(to: desired)
        wanted = desired
        return total
    }

    /// Brings every plane to what is wanted, with the receivers as healthy as they are by now.
    ///
    /// - Returns, throws: as `apply` does.
    @discardableResult
    public func followHealth() async throws(PlaneError) -> Change {
        await begin()
        defer { finish() }
        return try await lead(to: wanted)
    }

    /// Brings every plane to what is wanted, with the receivers that have been found by now.
    ///
    /// - Returns, throws: as `apply` does.
    @discardableResult
    public func followDiscovery() async throws(PlaneError) -> Change { try await followHealth() }

    func lead(to wanted: DesiredState) async throws(PlaneError) -> Change {
        var desired = wanted
        if let discovery { desired = desired.applying(await discovery.view()) }
        desired = desired.applying(drains)
        if let health { desired = desired.applying(await health.view()) }
        var slowStart = slowStart
        desired = slowStart.lay(over: desired, at: now())
        let total = Change.diff(from: inForce, to: desired)
        guard !total.isEmpty else {
            take(slowStart)
            return total
        }
        if total.concernsReceiversAlone {
            desired = try await moveTogether(to: desired)
        } else {
            desired = await Self.withTables(desired, after: inForce)
            try await moveInTurn(to: desired)
        }
        inForce = desired
        take(slowStart)
        return total
    }

    private func take(_ next: SlowStart) {
        slowStart = next
        if next.next != nil { risesBegan.yield() }
    }

    /// Nothing changes hands between planes, so none needs to wait for another: each waits for the kernel and
    /// for workers, and packets meet the new receivers in every mode at about the same moment.
    ///
    /// - Returns: the state, with its slot tables.
    private func moveTogether(
        to desired: DesiredState
    ) async throws(PlaneError) -> DesiredState {
        let (planes, inForce) = (planes, inForce)
        let tables = Task { await Self.withTables(desired, after: inForce) }
        let errors = await withTaskGroup(of: (Int, PlaneError?).self) { group in
            for (place, plane) in planes.enumerated() {
                group.addTask {
                    await plane.anticipate(Self.change(for: plane, from: inForce, to: desired))
                    let desired = await tables.value
                    do throws(PlaneError) {
                        try await Self.move(plane, from: inForce, to: desired)
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
        let reached = planes.indices.map { errors[$0] == nil ? desired : inForce }
        await leadBack(reached, inverting: Array(planes.indices))
        throw first.value
    }

    /// Whether the next change takes over what another process has.
    private var isSucceeding: Bool { hasPredecessor && inForce.listeners.isEmpty }

    /// Whom a listener of another mode succeeds goes when that is there.
    private func moveInTurn(to desired: DesiredState) async throws(PlaneError) {
        var steps = desired.steps(from: inForce)
        // What another process has passed is taken in turn; it goes on if that fails.
        if !isSucceeding {
            try await check(desired)
            do throws(PlaneError) {
                for step in steps.dropLast() { try await check(step) }
            } catch {
                logger.warning(
                    "listeners cannot stand beside those that succeed them; there may be a gap",
                    metadata: ["error": "\(error)"])
                steps = [desired]
            }
        }
        try await move(by: steps)
    }

    private func check(_ desired: DesiredState) async throws(PlaneError) {
        for plane in planes {
            let change = Self.change(for: plane, from: inForce, to: desired)
            if !change.isEmpty { try await plane.check(change) }
        }
    }

    /// All of the steps or none.
    private func move(by steps: [DesiredState]) async throws(PlaneError) {
        var reached = planes.map { _ in inForce }
        var former = inForce
        for step in steps {
            let order = turns(from: former, to: step)
            for (turn, place) in order.enumerated() {
                do throws(PlaneError) {
                    try await Self.move(planes[place], from: reached[place], to: step)
                } catch {
                    if isSucceeding {
                        for place in order[..<turn] { await planes[place].relinquish() }
                    } else {
                        await leadBack(reached, inverting: order)
                    }
                    throw error
                }
                reached[place] = step
            }
            former = step
        }
    }

    /// The planes in the order in which they move: whoever frees a hook before who takes it.
    private func turns(from former: DesiredState, to next: DesiredState) -> [Int] {
        let yielding = next.modesYieldingHooks(from: former)
        let isFirst = planes.map { yielding.contains(type(of: $0).mode) }
        return planes.indices.filter { isFirst[$0] } + planes.indices.filter { !isFirst[$0] }
    }

    func begin() async {
        if isBusy {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isBusy = true
        }
    }

    func finish() {
        if waiting.isEmpty {
            isBusy = false
        } else {
            waiting.removeFirst().resume()
        }
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
    ///   - reached: where each plane is.
    ///   - order: that in which they got there.
    private func leadBack(_ reached: [DesiredState], inverting order: [Int]) async {
        for place in order.reversed() {
            let plane = planes[place]
            do throws(PlaneError) {
                try await Self.move(plane, from: reached[place], to: inForce)
            } catch {
                logger.error(
                    "a plane could not return to the state before",
                    metadata: [
                        "mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)",
                    ])
            }
        }
    }

    /// The counters of every listener, by name.
    public func counters() async -> [ListenerCounters] {
        var all: [ListenerCounters] = []
        for plane in planes { all += await plane.counters() }
        return all.sorted { $0.listener < $1.listener }
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

    /// Ends every listener; what they had received is forwarded or counted first.
    ///
    /// - Parameter modes: of planes whose programs go on until another process takes them over.
    public func stop(leaving modes: Set<ForwardingMode> = []) async -> [ListenerCounters] {
        await begin()
        defer { finish() }
        for plane in planes where modes.contains(type(of: plane).mode) { await plane.relinquish() }
        var all: [ListenerCounters] = []
        for plane in planes { all += await plane.stop() }
        (wanted, inForce) = (DesiredState(), DesiredState())
        return all.sorted { $0.listener < $1.listener }
    }
}
