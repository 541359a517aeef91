// SPDX-License-Identifier: Apache-2.0

/// The middle of some figures and how far they reach.
public struct Spread: Equatable, Sendable {
    /// The middle figure, or the mean of the middle two.
    public let median: Double
    /// The smallest figure.
    public let least: Double
    /// The greatest figure.
    public let most: Double

    /// - Returns: nil for no figures. O(n log n).
    public init?(_ figures: [Double]) {
        let sorted = figures.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        least = first
        most = last
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }
}
