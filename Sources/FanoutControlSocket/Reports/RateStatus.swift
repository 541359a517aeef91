// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// What happens a second, on the average of the last few; to a tenth.
public struct RateStatus: Codable, Equatable, Sendable {
    public var packetsReceived: Double
    public var bytesReceived: Double
    public var packetsForwarded: Double
    public var bytesForwarded: Double
    public var packetsDropped: Double
    /// Of a receiver that refuses datagrams; else nil.
    public var refusals: Double?

    public init(_ rates: Rates) {
        func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
        packetsReceived = rounded(rates.packetsReceived)
        bytesReceived = rounded(rates.bytesReceived)
        packetsForwarded = rounded(rates.packetsForwarded)
        bytesForwarded = rounded(rates.bytesForwarded)
        packetsDropped = rounded(rates.packetsDropped)
        if rates.refusals > 0 { refusals = max(0.1, rounded(rates.refusals)) }
    }
}
