// SPDX-License-Identifier: Apache-2.0

/// `control`: the unix socket that `udp-fanout status` and its like talk to.
public struct ControlConfiguration: Equatable, Sendable {
    public var enabled: Bool
    /// Where the socket is: an absolute path of at most 96 bytes; nil for the usual place, which
    /// depends on who runs the daemon.
    public var socket: String?

    public init(enabled: Bool = true, socket: String? = nil) {
        self.enabled = enabled
        self.socket = socket
    }
}
