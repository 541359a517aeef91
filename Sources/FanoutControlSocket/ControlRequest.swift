// SPDX-License-Identifier: Apache-2.0

/// What a client asks for: one line of JSON, such as `{"request":"drain","name":"syslog/sink-1"}`.
public struct ControlRequest: Codable, Equatable, Sendable {
    /// The kinds of requests. The raw value is the member `request`.
    public enum Kind: String, CaseIterable, Codable, Sendable {
        case status, explain, drain, undrain, reload
    }

    public var request: Kind
    /// Of `drain` and `undrain`: `listener/receiver`, or a receiver in whichever listener.
    public var name: String?
    /// Of `explain`: the source, `ip:port` or `[ip6]:port`.
    public var from: String?
    /// Of `explain`: the destination.
    public var to: String?

    public init(_ request: Kind, name: String? = nil, from: String? = nil, to: String? = nil) {
        self.request = request
        self.name = name
        self.from = from
        self.to = to
    }
}
