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
    let hasPredecessor: Bool
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
        (wanted, inForce) = (DesiredState(), DesiredState())
        return all.sorted { $0.listener < $1.listener }
    }
}
