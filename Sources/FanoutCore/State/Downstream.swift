// SPDX-License-Identifier: Apache-2.0

/// A receiver of one listener's datagrams.
public struct Downstream: Hashable, Sendable {
    /// Unique within the listener; the metric label `downstream`.
    public let name: String
    /// Unique within the listener; what hash-keyed tables know it by.
    public let endpoint: Endpoint
    /// Its share of new traffic relative to the others, 0...65535; 0 = draining.
    public let weight: UInt16
    /// Whether it gets new traffic at all; false while health checks keep it out.
    public var isEnabled: Bool
    /// How many tenths of its weight count in slot tables by now, 1...10; less than all while `SlowStart` has its
    /// share rise.
    public var warmth = Downstream.warm

    /// All of the tenths.
    public static let warm = 10

    public init(name: String, endpoint: Endpoint, weight: UInt16 = 1, isEnabled: Bool = true) {
        self.name = name
        self.endpoint = endpoint
        self.weight = weight
        self.isEnabled = isEnabled
    }

    /// Within a listener that is all that tells one from another.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(endpoint)
        hasher.combine(weight)
    }

    /// Whether it has a share of new traffic.
    public var isReady: Bool { isEnabled && weight > 0 }
}
