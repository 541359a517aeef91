// SPDX-License-Identifier: Apache-2.0

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
