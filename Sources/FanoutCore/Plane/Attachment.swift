// SPDX-License-Identifier: Apache-2.0

/// A program of a data plane that is attached to a kernel hook.
public struct Attachment: Equatable, Sendable {
    public let mode: ForwardingMode
    /// The name of the interface.
    public let interface: String
    /// The kind of hook in the terms of its mode, such as `tcx` or `native`.
    public let hook: String
    /// How often the program was attached again after another program or tool detached it.
    public let restores: UInt64

    public init(mode: ForwardingMode, interface: String, hook: String, restores: UInt64 = 0) {
        self.mode = mode
        self.interface = interface
        self.hook = hook
        self.restores = restores
    }
}

/// What one worker of a data plane is doing, to distinguish a waiting worker from one that hangs.
public struct WorkerProgress: Equatable, Sendable {
    /// Unique in the plane, such as `syslog/0`.
    public let worker: String
    /// Changes after each batch of work.
    public let epoch: UInt64
    /// Whether it has work: it processes a batch, or datagrams wait for it.
    public let hasWork: Bool

    public init(worker: String, epoch: UInt64, hasWork: Bool) {
        self.worker = worker
        self.epoch = epoch
        self.hasWork = hasWork
    }
}

extension DataPlane {
    /// By default a plane has no kernel program.
    public func attachments() async -> [Attachment] { [] }

    /// By default a plane has no worker that could hang.
    public func progress() async -> [WorkerProgress] { [] }
}

/// A condition of the host that currently prevents a listener from forwarding.
public struct Obstruction: Hashable, Sendable {
    public let listener: String
    /// The names of the receivers that nothing gets to; empty if nothing gets to the listener.
    public let receivers: [String]
    public let reason: String
    /// What the operator can do.
    public let remedy: String

    public init(listener: String, receivers: [String], reason: String, remedy: String) {
        self.listener = listener
        self.receivers = receivers
        self.reason = reason
        self.remedy = remedy
    }
}

extension Sequence<Obstruction> {
    /// The names of the receivers that nothing gets to, by listener.
    public var outOfReach: [String: Set<String>] {
        reduce(into: [:]) { $0[$1.listener, default: []].formUnion($1.receivers) }
    }
}
