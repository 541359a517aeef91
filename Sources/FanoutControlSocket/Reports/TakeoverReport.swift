// SPDX-License-Identifier: Apache-2.0

/// What a daemon tells the process that takes its place.
public struct TakeoverReport: Codable, Equatable, Sendable {
    /// A receiver that is out of service by hand.
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
    /// For each listening socket that comes with the answer to `begin`, in their order: whether a program
    /// of its group steers sources.
    public var sockets: [Bool]
    /// Listeners that have a receiver for new traffic.
    public var serving: [String]
    /// Addresses of receivers that are unhealthy by their probes.
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
