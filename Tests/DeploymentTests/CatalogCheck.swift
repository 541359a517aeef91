// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import SchemaCheck
import Testing

/// Whether a running daemon exports what a query asks for.
enum CatalogCheck {
    /// What Prometheus adds to every sample.
    private static let ofTarget: Set = ["job", "instance"]

    static func expect(_ text: String, _ title: String) throws {
        let query = try PromQuery(text)
        var known = ofTarget
        for name in query.metrics {
            let metric = try #require(Metric.named(name), "\(title): no metric \(name)")
            known.formUnion(metric.labels)
        }
        #expect(query.labels.isSubset(of: known), "\(title): \(query.labels.subtracting(known))")
        let words: [String: [String]] = [
            "reason": DropReason.allCases.map(\.rawValue),
            "event": QueueCounters.KernelEvent.allCases.map(\.rawValue),
            "mode": ForwardingMode.allCases.map(\.rawValue),
            "result": ProbeResult.allCases.map(\.rawValue) + ["success", "failure"],
        ]
        for (label, values) in query.values {
            guard let words = words[label] else { continue }
            #expect(values.isSubset(of: Set(words)), "\(title): \(label) \(values)")
        }
    }

    /// The names in `{{…}}` of a legend, or after `$labels.` in an annotation.
    static func expectTemplate(_ text: String, of query: String, _ title: String) throws {
        let metrics = try PromQuery(query).metrics.compactMap(Metric.named)
        let known = ofTarget.union(metrics.flatMap(\.labels))
        let named =
            text.matches(of: /\{\{\s*([a-z_]+)\s*\}\}/).map { String($0.output.1) }
            + text.matches(of: /\$labels\.([a-z_]+)/).map { String($0.output.1) }
        for label in named { #expect(known.contains(label), "\(title): \(label)") }
    }
}
