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
    private(set) var active = DesiredState()
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
    let hasOldProcess: Bool
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
        hasOldProcess: Bool = false, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.now = now
        (rises, risesBegan) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.drains = drains
        self.hasOldProcess = hasOldProcess
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
        let total = try await apply(to: desired)
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
        return try await apply(to: wanted)
    }

    /// Brings every plane to what is wanted, with the receivers that have been found by now.
    ///
    /// - Returns, throws: as `apply` does.
    @discardableResult
    public func followDiscovery() async throws(PlaneError) -> Change { try await followHealth() }

    func apply(to wanted: DesiredState) async throws(PlaneError) -> Change {
        var desired = wanted
        if let discovery { desired = desired.applying(await discovery.view()) }
        desired = desired.applying(drains)
        if let health { desired = desired.applying(await health.view()) }
        var slowStart = slowStart
        desired = slowStart.lay(over: desired, at: now())
        let total = Change.diff(from: active, to: desired)
        guard !total.isEmpty else {
            take(slowStart)
            return total
        }
        if total.concernsReceiversAlone {
            desired = try await moveTogether(to: desired)
        } else {
            desired = await Self.withTables(desired, after: active)
            try await applyPlaneByPlane(to: desired)
        }
        active = desired
        take(slowStart)
        return total
    }

    private func take(_ next: SlowStart) {
        slowStart = next
        if next.next != nil { risesBegan.yield() }
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
        await begin()
        defer { finish() }
        for plane in planes where modes.contains(type(of: plane).mode) { await plane.relinquish() }
        var all: [ListenerCounters] = []
        for plane in planes { all += await plane.stop() }
        (wanted, active) = (DesiredState(), DesiredState())
        return all.sorted { $0.listener < $1.listener }
    }
}

/// What is wanted and what is in force, at one moment.
public struct StateView: Equatable, Sendable {
    /// What the configuration wants, whoever is healthy or drained.
    public let wanted: DesiredState
    /// What the data planes do.
    public let active: DesiredState
    public let drains: DrainList
}

extension Reconciler {
    public var view: StateView { StateView(wanted: wanted, active: active, drains: drains) }

    /// Takes receivers out of service, or puts them back.
    ///
    /// - Returns: what changed in the data planes.
    /// - Throws: the `PlaneError` of the plane that could not follow; everything is as it was then.
    @discardableResult
    public func drain(
        _ entries: Set<DrainList.Entry>, _ isDrained: Bool
    ) async throws(PlaneError) -> Change {
        await begin()
        defer { finish() }
        let before = drains
        if isDrained {
            drains.entries.formUnion(entries)
        } else {
            drains.entries.subtract(entries)
        }
        do throws(PlaneError) {
            return try await apply(to: wanted)
        } catch {
            drains = before
            throw error
        }
    }

    /// Whom a name means: receivers that are there, or that are drained and may come back.
    public func entries(named name: String) -> Set<DrainList.Entry> {
        let present = DrainList.entries(named: name, in: active)
        guard present.isEmpty else { return present }
        return drains.entries.filter { $0.description == name || $0.downstream == name }
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
        await begin()
        defer { finish() }
        for plane in planes { await plane.removeLeftovers() }
    }

    /// Leaves everything to another process; see `DataPlane.relinquish`.
    ///
    /// - Parameter modes: of these planes.
    public func relinquish(_ modes: Set<ForwardingMode>) async {
        await begin()
        defer { finish() }
        for plane in planes where modes.contains(type(of: plane).mode) { await plane.relinquish() }
    }

    /// Undoes `relinquish`. A plane that cannot have back what it left is one of an error in the log, and
    /// keeps nobody else from going on.
    public func reclaim(_ modes: Set<ForwardingMode>) async {
        await begin()
        defer { finish() }
        for plane in planes where modes.contains(type(of: plane).mode) {
            do throws(PlaneError) {
                try await plane.reclaim()
            } catch {
                logger.error(
                    "a plane cannot take back what it had left to another process",
                    metadata: ["mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)"])
            }
        }
    }
}

extension Reconciler {
    /// Waits for the times at which shares rise, until the task is cancelled.
    ///
    /// - Parameter act: called at each: has the planes follow (`followHealth`), and returns whether they did.
    ///   When they did not, it is called again.
    public func warm(_ act: @Sendable () async -> Bool) async {
        for await _ in rises {
            while let next = slowStart.next {
                // A change may bring another time that comes before.
                let pause = min(max(next - now(), .milliseconds(5)), .milliseconds(250))
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                guard let due = slowStart.next, due <= now() else { continue }
                if await !act() {
                    guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
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
        return desired.bearing(tables)
    }
}
