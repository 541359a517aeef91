// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// The rates of mode `tc_ebpf` in a lab of veths and the promises; nil when it was not measured.
    public var labTable: String? {
        lab.map { lab in
            let pairs = LabRates.Place.allCases.flatMap { place in
                LabRates.Forwarder.allCases.filter { $0 != .daemon }.map { (place, $0) }
            }
            return Self.table(
                [
                    "tc_ebpf over veths, receiver", "beside", "ns", "udp-fanout, ns",
                    "rate ratio (min–max)", "promise", "", "delivered", "lost",
                ],
                pairs.map { place, other in row(of: lab, place, other) })
        }
    }

    private func row(
        of lab: LabRates, _ place: LabRates.Place, _ other: LabRates.Forwarder
    ) -> [String] {
        let floods = [other, .daemon].map { lab.floods(of: $0, at: place) }
        let intervals = floods.map {
            Spread($0.map(\.interval)).map { $0.median.rounded(to: 0) } ?? "-"
        }
        let ratio = lab.ratio(to: other, at: place)
        let promise = LabRates.promise(to: other, at: place)
        let verdict = ratio.flatMap { ratio in
            promise.map { ratio.median >= $0 ? "met" : "missed" }
        }
        let all = floods.flatMap { $0 }
        return [place.rawValue, other.rawValue] + intervals + [
            ratio.map(Self.text) ?? "-", promise.map { "≥ \($0.rounded(to: 2))" } ?? "-",
            verdict ?? "-", "\(all.reduce(0) { $0 + $1.arrivedInAll })",
            "\(all.reduce(0) { $0 + $1.lost })",
        ]
    }
}
