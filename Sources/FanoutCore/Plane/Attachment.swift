// SPDX-License-Identifier: Apache-2.0

/// A place in the kernel where a data plane has hooked a program in.
public struct Attachment: Equatable, Sendable {
    public let mode: ForwardingMode
    /// The interface by name.
    public let interface: String
    /// The kind of hook in the words of its mode, such as `tcx` or `native`.
    public let hook: String
    /// How often the program was attached again after something else had detached it.
    public let restores: UInt64

    public init(mode: ForwardingMode, interface: String, hook: String, restores: UInt64 = 0) {
        self.mode = mode
        self.interface = interface
        self.hook = hook
        self.restores = restores
    }
}

/// What one worker of a data plane is doing, to tell one that waits from one that hangs.
public struct WorkerProgress: Equatable, Sendable {
    /// Unique in the plane, such as `syslog/0`.
    public let worker: String
    /// Another number after each batch of work.
    public let epoch: UInt64
    /// Whether it has something to do: it is in a batch, or datagrams wait for it.
    public let hasWork: Bool

    public init(worker: String, epoch: UInt64, hasWork: Bool) {
        self.worker = worker
        self.epoch = epoch
        self.hasWork = hasWork
    }
}

extension DataPlane {
    /// By default a plane has no program in the kernel.
    public func attachments() async -> [Attachment] { [] }

    /// By default a plane has no worker that could hang.
    public func progress() async -> [WorkerProgress] { [] }
}

/// Something about the host that keeps a listener's datagrams from their way at this moment.
public struct Obstruction: Hashable, Sendable {
    public let listener: String
    /// The receivers that nothing gets to, by name; empty when it is the listener that nothing gets to.
    public let receivers: [String]
    public let reason: String
    /// What the reader can do.
    public let remedy: String

    public init(listener: String, receivers: [String], reason: String, remedy: String) {
        self.listener = listener
        self.receivers = receivers
        self.reason = reason
        self.remedy = remedy
    }
}

extension Sequence<Obstruction> {
    /// The names of receivers that nothing gets to, by listener.
    public var outOfReach: [String: Set<String>] {
        reduce(into: [:]) { $0[$1.listener, default: []].formUnion($1.receivers) }
    }
}
