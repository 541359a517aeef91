// SPDX-License-Identifier: Apache-2.0

extension Double {
    /// The number with so many decimals; an infinite one as a word.
    func rounded(to decimals: Int) -> String {
        guard isFinite else { return "infinite" }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let units = Int((magnitude * scale).rounded())
        let sign = self < 0 && units != 0 ? "-" : ""
        guard decimals > 0 else { return "\(sign)\(units)" }
        let fraction = String(units % Int(scale))
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(sign)\(units / Int(scale)).\(zeros)\(fraction)"
    }
}
