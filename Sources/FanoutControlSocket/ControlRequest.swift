// SPDX-License-Identifier: Apache-2.0

/// What a client asks for: one line of JSON, such as `{"request":"drain","name":"syslog/sink-1"}`.
public struct ControlRequest: Codable, Equatable, Sendable {
    /// The kinds of requests. The raw value is the member `request`.
    public enum Kind: String, CaseIterable, Codable, Sendable {
        case status, explain, drain, undrain, reload, takeover
    }

    /// The parts of `takeover`, in their order on one connection. When that ends before the last, the daemon
    /// takes back what it has let go of and goes on.
    public enum TakeoverStep: String, CaseIterable, Codable, Sendable {
        /// The listening sockets come with the answer; the daemon reads from them as before.
        case begin
        /// The daemon lets go of hooks, queues and the metrics port. What the kernel does goes on.
        case release
        /// The daemon reads no more from its sockets.
        case `switch`
        /// The daemon ends.
        case finish
        /// Instead of what is left: the daemon takes back what it has let go of.
        case abandon
    }

    public var request: Kind
    /// Of `drain` and `undrain`: `listener/receiver`, or a receiver in whichever listener.
    public var name: String?
    /// Of `explain`: the source, `ip:port` or `[ip6]:port`.
    public var from: String?
    /// Of `explain`: the destination.
    public var to: String?
    /// Of `takeover`.
    public var step: TakeoverStep?
    /// Of the step `begin`: the number of the process that takes over.
    public var process: Int32?
    /// Of the step `finish`: addresses whose sockets are not used; the daemon forwards what is in them.
    public var unused: [String]?

    public init(_ request: Kind, name: String? = nil, from: String? = nil, to: String? = nil) {
        self.request = request
        self.name = name
        self.from = from
        self.to = to
    }
}
