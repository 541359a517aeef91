// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// What the program of `xdp_nat` costs against the promise; nil when it was not measured.
    public var translationTable: String? {
        translation.map { translation in
            Self.table(
                ["xdp_nat, program alone", "way", "family", "measured", "promise", ""],
                translation.costs.map { cost in
                    let promise = translation.promise(for: cost)
                    return [
                        cost.packet.rawValue, cost.way.rawValue, cost.family.rawValue,
                        "\(cost.net.rounded(to: 0)) ns "
                            + "(\(cost.program.least.rounded(to: 0)) − "
                            + "\(cost.empty.least.rounded(to: 0)))",
                        promise.map { "≤ \($0.rounded(to: 0)) ns" } ?? "-",
                        promise.map { cost.net <= $0 ? "met" : "missed" } ?? "-",
                    ]
                })
        }
    }
}
