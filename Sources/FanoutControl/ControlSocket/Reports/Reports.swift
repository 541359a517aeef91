// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// The result of `drain` or `undrain`.
public struct DrainReport: Codable, Equatable, Sendable {
    /// The receivers that the request named, `listener/receiver`.
    public var receivers: [String]
    /// Whether anything changed.
    public var changed: Bool
    /// All drained receivers.
    public var drained: [String]
    /// Listeners without a receiver for new traffic.
    public var listenersWithoutReceiver: [String]

    public init(
        receivers: [String], changed: Bool, drained: [String], listenersWithoutReceiver: [String]
    ) {
        self.receivers = receivers
        self.changed = changed
        self.drained = drained
        self.listenersWithoutReceiver = listenersWithoutReceiver
    }
}

/// The result of `reload`.
public struct ReloadReport: Codable, Equatable, Sendable {
    /// A summary of the changes by key, such as `retargeted`: `syslog`.
    public var changes: [String: String]
    public var warnings: [String]
    /// Why the previous configuration stays active; empty if the new one is active.
    public var problems: [String]

    public init(changes: [String: String] = [:], warnings: [String] = [], problems: [String] = []) {
        self.changes = changes
        self.warnings = warnings
        self.problems = problems
    }
}

/// Which receiver a datagram would go to, and why: the response to `explain`.
public struct ExplanationReport: Codable, Equatable, Sendable {
    public struct Share: Codable, Equatable, Sendable {
        public var name: String
        public var address: String
        public var slots: Int
    }

    public var from: String
    public var to: String
    public var listener: String
    public var mode: String
    public var balance: String
    /// The flow key; nil if it is a counter or a random number.
    public var key: UInt32?
    public var slots: Int
    public var slot: Int?
    /// Nil if no packet determines it, or no receiver is ready.
    public var receiver: String?
    public var receiverAddress: String?
    /// Whether the sender has an association with the receiver, which takes precedence over its slot; nil in
    /// modes without associations.
    public var associated: Bool?
    /// One sentence for each step of the decision.
    public var reasons: [String]
    /// Every receiver of the listener, and how many slots it owns.
    public var shares: [Share]

    public init(_ explanation: Explanation, from source: Endpoint, to destination: Endpoint) {
        from = "\(source)"
        to = "\(destination)"
        listener = explanation.listener.name
        mode = explanation.listener.mode.rawValue
        balance = explanation.listener.balance.rawValue
        key = explanation.key
        slots = explanation.slotCount
        slot = explanation.slot
        receiver = explanation.receiver?.name
        receiverAddress = explanation.receiver.map { "\(explanation.address(of: $0))" }
        associated = explanation.listener.mode == .xdpNAT ? explanation.isAssociated : nil
        reasons = explanation.reasons
        shares = explanation.shares.map {
            Share(
                name: $0.downstream.name, address: "\(explanation.address(of: $0.downstream))",
                slots: $0.slots)
        }
    }
}

/// The old daemon's state for the process that takes over.
public struct TakeoverReport: Codable, Equatable, Sendable {
    /// A drained receiver.
    public struct Drain: Codable, Equatable, Sendable {
        public var listener: String
        public var receiver: String

        public init(listener: String, receiver: String) {
            self.listener = listener
            self.receiver = receiver
        }
    }

    public var version: String
    public var pid: Int32
    /// For each listening socket of the response to `begin`, in the same order: whether a program of its group
    /// steers sources.
    public var sockets: [Bool]
    /// Listeners with a receiver for new traffic.
    public var serving: [String]
    /// Addresses of receivers that their probes report as unhealthy.
    public var unhealthy: [String]
    public var drained: [Drain]

    public init(
        version: String, pid: Int32, sockets: [Bool] = [], serving: [String] = [],
        unhealthy: [String] = [], drained: [Drain] = []
    ) {
        self.version = version
        self.pid = pid
        self.sockets = sockets
        self.serving = serving
        self.unhealthy = unhealthy
        self.drained = drained
    }
}
