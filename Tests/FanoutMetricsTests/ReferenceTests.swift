// SPDX-License-Identifier: Apache-2.0

import FanoutMetrics
import Foundation
import Testing
import Tiers

@Suite("The reference of the metrics", .tags(.unit))
struct ReferenceTests {
    @Test("what is committed is what the sources make; `make reference` rewrites it")
    func committed() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appending(path: "docs/reference/metrics.md"), encoding: .utf8)
        #expect(page == MetricsReference.markdown)
    }

    @Test("describes every label that a metric has, and no other")
    func labels() {
        let told = MetricsReference.labelMeanings.map(\.label)
        #expect(Set(told).count == told.count)
        #expect(Set(told) == Set(Metric.all.flatMap(\.labels)))
    }
}
