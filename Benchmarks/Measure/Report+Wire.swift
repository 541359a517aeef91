// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// The rate of each forwarder under overload; nil when it was not measured.
    public var wireTable: String? {
        wire.map { wire in
            Self.table(
                ["AF_XDP over veths, one CPU", "1000/s", "CPU ns a datagram", "delivered"],
                WireRates.Forwarder.allCases.map { forwarder in
                    let floods = wire.floods(of: forwarder)
                    return [
                        forwarder.rawValue,
                        Spread(floods.map { $0.rate / 1000 }).map { $0.median.rounded(to: 0) }
                            ?? "-",
                        Spread(floods.map(\.cost)).map { $0.median.rounded(to: 0) } ?? "-",
                        "\(floods.reduce(0) { $0 + $1.arrivedInAll })",
                    ]
                })
        }
    }

    /// Mode `af_xdp` against the promises; nil when no daemon ran in that mode.
    public var afxdpTable: String? {
        guard let wire, !wire.floods(of: .afxdp).isEmpty else { return nil }
        let rates = WireRates.Forwarder.allCases.compactMap { other in
            WireRates.promise(to: other).map { promise in
                let ratio = wire.ratio(to: other)
                return [
                    "rate, to \(other.rawValue)", ratio.map(Self.text) ?? "-",
                    "≥ \(promise.rounded(to: 2))",
                    ratio.map { $0.median >= promise ? "met" : "missed" } ?? "-",
                ]
            }
        }
        return Self.table(
            ["af_xdp", "measured", "promise", ""],
            rates + [
                Self.row(
                    "resident memory with frames, one queue", wire.residentMebibytes,
                    WireRates.residentPromise, "MiB"),
                Self.row(
                    "CPU without traffic", wire.idlePercent, WireRates.idlePromise, "%"),
            ])
    }

    private static func row(
        _ what: String, _ measured: Double?, _ promise: Double, _ unit: String
    ) -> [String] {
        [
            what, measured.map { "\($0.rounded(to: 1)) \(unit)" } ?? "-",
            "≤ \(promise.rounded(to: 0)) \(unit)",
            measured.map { $0 <= promise ? "met" : "missed" } ?? "-",
        ]
    }
}
