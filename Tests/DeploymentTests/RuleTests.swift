// SPDX-License-Identifier: Apache-2.0

import FanoutMetrics
import Foundation
import LabNet
import SchemaCheck
import Testing
import Tiers

@Suite("The alert rules for Prometheus", .tags(.network))
struct RuleTests {
    static let folder = "packaging/prometheus"
    static let file = "udp-fanout.rules.yml"

    static func rules() throws -> [Value] {
        try Tree.value("\(folder)/\(file)")["groups"]?.list?.flatMap { $0["rules"]?.list ?? [] }
            ?? []
    }

    /// Runs promtool(1), of Debian's package prometheus.
    static func promtool(_ arguments: [String]) async throws -> (ending: Ending, text: String) {
        let tool = try ChildProcess("/usr/bin/promtool", arguments)
        let ending = try await tool.exit(within: .seconds(60))
        let state = tool.record.state
        return (ending, (state.output + state.errors).joined(separator: "\n"))
    }

    @Test("promtool accepts them")
    func check() async throws {
        let path = Tree.root.appending(path: "\(Self.folder)/\(Self.file)").path
        let result = try await Self.promtool(["check", "rules", path])
        #expect(result.ending == .exited(0), "\(result.text)")
    }

    @Test("go off when they should, and are quiet while all is well")
    func unitTests() async throws {
        let path = Tree.root.appending(path: "\(Self.folder)/udp-fanout.rules.test.yml").path
        let result = try await Self.promtool(["test", "rules", path])
        #expect(result.ending == .exited(0), "\(result.text)")
    }

    @Test("a rule that is wrong fails its unit test")
    func wrongRule() async throws {
        let folder = try ScratchFolder()
        let rules = try Tree.text("\(Self.folder)/\(Self.file)")
        #expect(rules.contains("> 100000"))
        try folder.write(rules.replacing("> 100000", with: "> 1e9"), to: Self.file)
        let tests = "udp-fanout.rules.test.yml"
        try folder.write(Tree.text("\(Self.folder)/\(tests)"), to: tests)
        let result = try await Self.promtool(["test", "rules", folder.path(tests)])
        #expect(result.ending == .exited(1), "\(result.text)")
        #expect(result.text.contains("UdpFanoutLedgerMismatch"))
    }

    @Test("each has a unit test in which it goes off, and one in which it does not")
    func covered() throws {
        let tests = try Tree.value("\(Self.folder)/udp-fanout.rules.test.yml")
        let cases = tests["tests"]?.list?.flatMap { $0["alert_rule_test"]?.list ?? [] } ?? []
        for rule in try Self.rules() {
            let own = cases.filter { $0["alertname"] == rule["alert"] }
            let fired = own.contains { $0["exp_alerts"]?.list?.isEmpty == false }
            let quiet = own.contains { $0["exp_alerts"]?.list?.isEmpty == true }
            #expect(fired && quiet, "\(rule["alert"]?.text ?? "")")
        }
    }

    @Test("ask only for metrics, labels and reasons that the daemon exports")
    func exported() throws {
        let rules = try Self.rules()
        #expect(rules.count >= 11)
        for rule in rules {
            let title = rule["alert"]?.text ?? ""
            let query = rule["expr"]?.text ?? ""
            try CatalogCheck.expect(query, title)
            let notes = rule["annotations"]
            for text in notes?.texts ?? [] {
                try CatalogCheck.expectTemplate(text, of: query, title)
            }
            #expect(notes?["summary"] != nil && notes?["description"] != nil, "\(title)")
            #expect(
                ["warning", "critical"].contains(rule["labels"]?["severity"]?.text), "\(title)")
        }
    }

    @Test(
        "a name that the daemon does not export would be found",
        arguments: [
            "udp_fanout_nothing_total", "udp_fanout_workers{queue=\"1\"}",
            "sum by (reason) (udp_fanout_workers)",
            "udp_fanout_packets_dropped_total{reason=\"none\"}",
        ])
    func wrongNames(query: String) throws {
        withKnownIssue { try CatalogCheck.expect(query, "wrong") }
    }
}
