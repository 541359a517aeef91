// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import SchemaCheck
import Testing
import Tiers

@Suite("The Grafana dashboard", .tags(.unit))
struct DashboardTests {
    static let path = "packaging/grafana/udp-fanout.json"

    static func panels() throws -> [Value] {
        try (Tree.value(path)["panels"]?.list ?? []).filter { $0["type"]?.text != "row" }
    }

    /// A query with what Grafana puts in the place of its variables.
    private static func filled(_ query: String) -> String {
        query.replacing("$__rate_interval", with: "5m").replacing("$__range", with: "1h")
            .replacing(/\$[a-z]+/, with: ".*")
    }

    @Test("asks only for metrics, labels and reasons that the daemon exports")
    func exported() throws {
        let panels = try Self.panels()
        #expect(panels.count > 20)
        for panel in panels {
            let title = panel["title"]?.text ?? ""
            for target in panel["targets"]?.list ?? [] {
                let query = Self.filled(target["expr"]?.text ?? "")
                try CatalogCheck.expect(query, title)
                try CatalogCheck.expectTemplate(
                    target["legendFormat"]?.text ?? "", of: query, title)
            }
        }
        for variable in try Tree.value(Self.path)["templating"]?["list"]?.list ?? [] {
            guard variable["type"] == .text("query") else { continue }
            let query = Self.filled(variable["definition"]?.text ?? "")
            let parts = query.dropFirst("label_values(".count).dropLast()
            let label = parts.split(separator: ", ").last.map(String.init) ?? ""
            let metric = parts.dropLast(label.count + 2)
            try CatalogCheck.expect("count by (\(label)) (\(metric))", "variable")
        }
    }

    @Test("Prometheus understands every query")
    func syntax() async throws {
        let queries = try Self.panels().flatMap { panel in
            (panel["targets"]?.list ?? []).compactMap { $0["expr"]?.text }
        }
        let rules = queries.enumerated().map { index, query in
            "  - {record: 'panel:\(index)', expr: \(Value.quoted(Self.filled(query)))}"
        }
        let folder = try ScratchFolder()
        let file = try folder.write(
            "groups:\n- name: panels\n  rules:\n" + rules.joined(separator: "\n") + "\n",
            to: "rules.yml")
        let result = try await RuleTests.promtool(["check", "rules", file])
        #expect(result.ending == .exited(0), "\(result.text)")
        #expect(result.text.contains("\(queries.count) rules found"), "\(result.text)")
    }

    @Test("its panels have numbers of their own and lie beside each other")
    func layout() throws {
        let panels = try Tree.value(Self.path)["panels"]?.list ?? []
        let numbers = panels.compactMap { $0["id"]?.integer }
        #expect(Set(numbers).count == panels.count)
        var taken: Set<[Int]> = []
        for panel in panels {
            let place = try #require(panel["gridPos"])
            let (x, y) = (place["x"]?.integer ?? -1, place["y"]?.integer ?? -1)
            let (w, h) = (place["w"]?.integer ?? 0, place["h"]?.integer ?? 0)
            #expect(x >= 0 && x + w <= 24 && h > 0)
            for column in x..<(x + w) {
                for line in y..<(y + h) {
                    #expect(taken.insert([column, line]).inserted, "\(panel["title"]?.text ?? "")")
                }
            }
        }
    }
}
