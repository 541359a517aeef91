// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// One item of `listeners[].downstream`.
public struct DownstreamConfiguration: Equatable, Sendable {
    /// Unique within the listener, 1...128 bytes, no control characters.
    public var name: String
    /// Unique within the listener.
    public var address: Endpoint
    /// Share of new traffic relative to the others, 0...65535; 0 = draining.
    public var weight: UInt16
    /// A legacy key: six bytes as `02:00:00:00:00:01`, checked and then used for nothing.
    public var mac: String?

    public init(name: String, address: Endpoint, weight: UInt16 = 1, mac: String? = nil) {
        self.name = name
        self.address = address
        self.weight = weight
        self.mac = mac
    }

    /// The downstream as every data plane knows it.
    public var downstream: Downstream { Downstream(name: name, endpoint: address, weight: weight) }
}
