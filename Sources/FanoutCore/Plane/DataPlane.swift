// SPDX-License-Identifier: Apache-2.0

/// Forwards the datagrams of the listeners of one mode.
public protocol DataPlane: Sendable {
    /// The mode of its listeners.
    static var mode: ForwardingMode { get }

    /// Prepares for a change that may follow, without altering anything, for example while slot tables are built.
    func anticipate(_ change: Change) async

    /// Checks, without altering anything, whether a change would fail because of other processes or a lack of room.
    /// Then planes that come earlier need no rollback.
    ///
    /// - Throws: the `PlaneError` that `apply` would throw.
    func check(_ change: Change) async throws(PlaneError)

    /// Applies the change, all or nothing: every step that can fail comes before the first alteration. When it
    /// returns, removed receivers get nothing more, and everything that removed listeners had received is forwarded
    /// or counted.
    ///
    /// - Throws: `PlaneError` if sockets, memory or privileges are missing; the plane then continues exactly as
    ///   before.
    func apply(_ change: Change) async throws(PlaneError)

    /// The counters of its listeners.
    func counters() async -> [ListenerCounters]

    /// Counters by receive queue; empty for planes without queues.
    func queueCounters() async -> [QueueCounters]

    /// Where its programs are attached.
    func attachments() async -> [Attachment]

    /// What prevents forwarding; empty for planes that leave this to the kernel's network stack.
    func obstructions() async -> [Obstruction]

    /// What each of its workers is doing.
    func progress() async -> [WorkerProgress]

    /// Stops every listener, forwards or counts what they had received, and returns the last counters.
    func stop() async -> [ListenerCounters]

    /// Hands its sockets and hooks over to another process of this program. The kernel continues to forward.
    /// Everything received is forwarded or counted. No `apply` follows until `reclaim`; `stop` leaves untouched
    /// what was handed over.
    func relinquish() async

    /// Undoes `relinquish` after the other process has failed.
    ///
    /// - Throws: `PlaneError` if what was handed over is not available any more.
    func reclaim() async throws(PlaneError)

    /// Removes what killed daemons left in the kernel for the plane's mode, except what it has taken over: it would
    /// go on forwarding to outdated receivers. What a living process holds stays.
    func removeLeftovers() async

    /// What happened to packets, by the plane's own names, over all of its listeners; empty for planes without
    /// further counters.
    func events() async -> [String: UInt64]

    /// Sends one of the next datagrams to each of `receivers` that is out of service, to see whether it still
    /// refuses; does nothing for planes that see no refusals.
    func tryOut(_ receivers: Set<Endpoint>) async

    /// Packets that were counted as forwarded and that a driver did not accept, by output interface; empty for
    /// planes that learn of this in another way.
    func transmitErrors() async -> [String: UInt64]

    /// The receiver that a source is associated with at one of a listener's destinations, regardless of the slots.
    /// Nil if the source has no association, and for planes without associations.
    func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: String
    ) async -> Endpoint?
}

extension DataPlane {
    public func anticipate(_ change: Change) async {}

    public func check(_ change: Change) async throws(PlaneError) {}

    public func removeLeftovers() async {}

    public func tryOut(_ receivers: Set<Endpoint>) async {}

    public func obstructions() async -> [Obstruction] { [] }

    public func events() async -> [String: UInt64] { [:] }

    public func transmitErrors() async -> [String: UInt64] { [:] }

    public func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: String
    ) async -> Endpoint? { nil }
}

extension DataPlane {
    public func queueCounters() async -> [QueueCounters] { [] }
}

/// A data plane that could not do what it was asked, and what to do about it.
public struct PlaneError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The failed operation, such as `bind`.
    public let operation: String
    /// Its subject: a listener and its address, an interface, a receiver.
    public let subject: String
    /// The kernel's errno, or 0 if the plane itself refuses.
    public let code: Int32
    /// The kernel's name of the error, or the cause.
    public let reason: String
    /// What the operator can do.
    public let remedy: String

    public init(
        operation: String, subject: String, code: Int32 = 0, reason: String, remedy: String
    ) {
        self.operation = operation
        self.subject = subject
        self.code = code
        self.reason = reason
        self.remedy = remedy
    }

    public var description: String { "\(operation) \(subject): \(reason): \(remedy)" }
}
