// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// What the program of `tc_ebpf` costs against the promise; nil when it was not measured.
    public var forwardingTable: String? {
        forwarding.map { forwarding in
            Self.table(
                ["tc_ebpf, program alone", "family", "measured", "bare", "ratio", "promise", ""],
                forwarding.costs.map { cost in
                    let promise = forwarding.promise(for: cost)
                    return [
                        cost.path.rawValue, cost.family.rawValue,
                        "\(cost.net.rounded(to: 0)) ns "
                            + "(\(cost.program.least.rounded(to: 0)) − "
                            + "\(cost.empty.least.rounded(to: 0)))",
                        "\(cost.netOfBare.rounded(to: 0)) ns", cost.ratio.rounded(to: 2),
                        promise.map { "≤ \($0.rounded(to: 0)) ns" } ?? "-",
                        promise.map { cost.net <= $0 ? "met" : "missed" } ?? "-",
                    ]
                })
        }
    }
}
