// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// Mode `xdp_nat` over veths against the promises; nil when it was not measured.
    public var natTable: String? {
        guard let nat else { return nil }
        var rows: [[String]] = []
        for scene in NATRates.Scene.allCases {
            for forwarder in scene.forwarders {
                let floods = nat.floods(of: forwarder, in: scene)
                let promise = NATRates.promise(to: forwarder, in: scene)
                let ratio = promise.flatMap { _ in nat.ratio(to: forwarder, in: scene) }
                rows.append([
                    forwarder.rawValue, scene.rawValue,
                    Spread(floods.map { 1e9 / $0.rate }).map { $0.median.rounded(to: 0) } ?? "-",
                    ratio.map(Self.text) ?? "-", promise.map { "≥ \($0.rounded(to: 2))" } ?? "-",
                    Self.verdict(ratio.flatMap { ratio in promise.map { ratio.median >= $0 } }),
                ])
            }
        }
        let limit = NATRates.slowdownPromise
        for scene in [NATRates.Scene.crowd, .all] {
            let slowdown = nat.slowdown(in: scene)
            rows.append([
                "\(scene.rawValue), to 1024", "one arm", "-", slowdown.map(Self.text) ?? "-",
                "≤ \(limit.rounded(to: 2))", Self.verdict(slowdown.map { $0.median <= limit }),
            ])
        }
        return Self.table(
            ["xdp_nat over veths", "way", "ns a datagram", "udp-fanout to it", "promise", ""], rows)
    }

    private static func verdict(_ isMet: Bool?) -> String {
        isMet.map { $0 ? "met" : "missed" } ?? "-"
    }
}
