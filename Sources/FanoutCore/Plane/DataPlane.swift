// SPDX-License-Identifier: Apache-2.0

/// Something that forwards datagrams for listeners of one mode.
public protocol DataPlane: Sendable {
    /// The mode of the listeners that it carries.
    static var mode: ForwardingMode { get }

    /// Finds out what a change will take that may be made next, as far as that alters nothing: while slot tables
    /// are built, say.
    func anticipate(_ change: Change) async

    /// Finds out whether a change would fail, at what other processes have or for want of room, as far as that can
    /// be seen without altering anything, so that planes before this one need no rollback.
    ///
    /// - Throws: the `PlaneError` that `apply` would.
    func check(_ change: Change) async throws(PlaneError)

    /// Makes the plane do what the change ends in, all or nothing: everything that can fail is done
    /// before anything is altered. When it returns, removed downstreams receive nothing more, and what
    /// removed listeners had received is forwarded or counted.
    ///
    /// - Throws: `PlaneError` when sockets, memory or privileges are missing; the plane then goes on
    ///   exactly as before.
    func apply(_ change: Change) async throws(PlaneError)

    /// The counters of every listener that it carries.
    func counters() async -> [ListenerCounters]

    /// What it counted by receive queue; nothing for planes that have none of their own.
    func queueCounters() async -> [QueueCounters]

    /// Where its programs are hooked in.
    func attachments() async -> [Attachment]

    /// What keeps datagrams from their way; nothing for planes that leave it to the kernel's stack.
    func obstructions() async -> [Obstruction]

    /// What each of its workers is doing at this moment.
    func progress() async -> [WorkerProgress]

    /// Ends every listener, forwards or counts what they had received, and returns the last counters.
    func stop() async -> [ListenerCounters]

    /// Leaves the datagrams to another process of this program, which takes over sockets and hooks as they
    /// are; what the kernel does goes on meanwhile. What was received is forwarded or counted. Until
    /// `reclaim` or `stop`, which touches nothing of what was left, no change is asked for.
    func relinquish() async

    /// Undoes `relinquish`, when that process has failed.
    ///
    /// - Throws: `PlaneError` when what was left cannot be had any more.
    func reclaim() async throws(PlaneError)

    /// Removes what killed daemons left in the kernel for the plane's mode, other than what it has taken over: it
    /// would go on forwarding to receivers of old. What a living process holds stays.
    func removeLeftovers() async

    /// What became of packets, by the plane's names for it, over all of its listeners; empty for planes
    /// that have nothing to say beyond the counters.
    func events() async -> [String: UInt64]

    /// Has those of `receivers` that are out of service get one datagram each of what comes next, to see whether they
    /// still refuse it; nothing for planes that see no refusals.
    func tryOut(_ receivers: Set<Endpoint>) async

    /// Packets that were counted as forwarded and that a driver did not take, by the interface that they were to leave
    /// by; empty for planes that hear of that otherwise.
    func transmitErrors() async -> [String: UInt64]

    /// The receiver that a source stays with at one of a listener's destinations, whatever its slots say:
    /// its association. Nil if the source has none, and for planes without associations.
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
    /// What was tried, such as `bind`.
    public let operation: String
    /// On what: a listener and its address, an interface, a downstream.
    public let subject: String
    /// The kernel's errno, or 0 when the refusal is our own.
    public let code: Int32
    /// The kernel's name of the error, or what is wrong.
    public let reason: String
    /// What the reader can do.
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
