// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@testable import FanoutConfig

@Suite("Keys: every one is known, and written once, where it belongs", .tags(.unit))
struct KeyTests {
    @Test("an unknown key names its line and the nearest known key")
    func nearest() {
        let reading = Reading(Reading.good.replacing("bind:", with: "binds:"))
        #expect(
            reading.errors == [
                "f:2:5: listeners[0].bind: is missing; write ip:port, such as 192.0.2.1:514 or "
                    + "[2001:db8::1]:514",
                "f:3:5: listeners[0].binds: unknown key; write bind",
            ])
    }

    static let misplacedCases: [(String, String)] = [
        (
            "workers: 1",
            "f:5:1: workers: unknown key; it belongs under settings; write settings.workers"
        ),
        (
            "downstream: []",
            "f:5:1: downstream: unknown key; it belongs under listeners[]; write listeners[].downstream"
        ),
        (
            "metrics: {port: 9090}",
            "f:5:11: metrics.port: unknown key; write bind: ip:port"
        ),
        (
            "health: {bind: '0.0.0.0:1'}",
            "f:5:10: health.bind: unknown key; it belongs under listeners[] or metrics"
        ),
        (
            "path: /metrics",
            "f:5:1: path: unknown key; it belongs under listeners[].file or metrics"
        ),
        (
            "    workers: 1",
            "f:5:5: listeners[0].workers: unknown key; it belongs under listeners[].settings; write "
                + "listeners[].settings.workers"
        ),
        ("    port: 514", "f:5:5: listeners[0].port: unknown key; write bind: ip:port"),
        (
            "    enabled: true",
            "f:5:5: listeners[0].enabled: unknown key; it belongs under health, metrics or control"
        ),
        (
            "    service: s",
            "f:5:5: listeners[0].service: unknown key; it belongs under listeners[].kubernetes; write "
                + "listeners[].kubernetes.service"
        ),
        ("worker: 1", "f:5:1: worker: unknown key; write workers under settings, or remove it"),
        ("metric: {}", "f:5:1: metric: unknown key; write metrics"),
        (
            "plugins: {}",
            "f:5:1: plugins: unknown key; remove it; the file takes listeners, settings, health, metrics or control"
        ),
        (
            "health: {color: 1}",
            "f:5:10: health.color: unknown key; remove it; health takes enabled, interval_secs, "
                + "timeout_secs, protocol, port, payload, payload_preset, radius_secret, rise, fall, "
                + "min_healthy_percent or passive"
        ),
        (
            "settings: {\"a\\nb\": 1}",
            "f:5:12: settings.a<U+000A>b: unknown key; remove it; settings takes"
        ),
        ("settings: {[a]: 1}", "f:5:12: settings: a key is not a text; remove it; settings takes"),
        (
            "settings: {<<: {workers: 1}}",
            "f:5:12: settings.<<: merge keys are refused; write the keys out"
        ),
        ("settings: {Workers: 1}", "f:5:12: settings.Workers: unknown key; write workers"),
    ]

    @Test("a key in the wrong place is shown the right one", arguments: misplacedCases)
    func misplaced(line: String, problem: String) {
        let errors = Reading(Reading.good + line + "\n").errors
        #expect(errors.count == 1)
        #expect(errors.first?.hasPrefix(problem) == true, "\(errors)")
    }

    @Test("a key that stands twice is found at its second place, and hides no other problem")
    func repeated() {
        let text = """
            listeners:
              - name: a
                bind: 0.0.0.0:514
                bind: 0.0.0.0:515
                "bind": 0.0.0.0:516
                portx: 1
                downstream:
                  - {name: r, name: s, address: 192.0.2.1:1}
            settings: {workers: 1, workers: x}
            listeners: []
            """
        #expect(
            Reading(text).errors
                == [
                    "f:4:5: listeners[0].bind: the key stands twice, first on line 3; remove one of the two",
                    "f:5:5: listeners[0].bind: the key stands twice, first on line 3; remove one of the two",
                    "f:6:5: listeners[0].portx: unknown key; write ports",
                    "f:8:19: listeners[0].downstream[0].name: the key stands twice, first on line 8; remove "
                        + "one of the two",
                    "f:9:24: settings.workers: the key stands twice, first on line 9; remove one of the two",
                    "f:10:1: listeners: the key stands twice, first on line 1; remove one of the two",
                ])
    }

    @Test("a key that stands twenty times is refused all the same")
    func repeatedOften() {
        let text = Reading.good + "settings:\n" + String(repeating: "  workers: 1\n", count: 20)
        let errors = Reading(text).errors
        #expect(errors.count == 19)
        #expect(
            errors.allSatisfy {
                $0.hasSuffix("the key stands twice, first on line 6; remove one of the two")
            })
    }

    @Test("a missing required key is named with its place")
    func missing() {
        #expect(
            Reading("settings: {workers: 1}\n").errors
                == ["f:1:1: listeners: is missing; write a list, each item beginning with '- '"])
        #expect(
            Reading("listeners: []\n").errors
                == ["f:1:1: listeners: holds no listener; write at least one, beginning with '- '"])
        #expect(
            Reading("listeners:\n").errors
                == ["f:1:1: listeners: is empty; write a list, each item beginning with '- '"])
        #expect(
            Reading("listeners:\n  - \n  - x\n").errors == [
                "f:2:4: listeners[0]: is empty; write its keys below it, indented",
                "f:3:5: listeners[1]: is not a mapping; write its keys below it, indented",
            ])
        #expect(
            Reading("listeners:\n  - {bind: 0.0.0.0:1, downstream: [{weight: 1}]}\n").errors.map {
                $0.split(separator: ";")[0]
            } == [
                "f:2:5: listeners[0].name: is missing",
                "f:2:36: listeners[0].downstream[0].address: is missing",
                "f:2:36: listeners[0].downstream[0].name: is missing",
            ])
    }

    @Test("every error of a file is found, in line order")
    func everyError() {
        let text = """
            metrics: {enabled: yes}
            listeners:
              - name: a
                bind: nowhere
                mode: tcebpf
                downstream:
                  - {name: r, address: 192.0.2.1:x, weight: 70000}
              - name: a
                bind: 0.0.0.0:1
            health: {protocol: ping}
            """
        #expect(
            Reading(text).errors.map { $0.split(separator: ": ")[0...1].joined(separator: ": ") }
                == [
                    "f:1:20: metrics.enabled", "f:4:11: listeners[0].bind",
                    "f:5:11: listeners[0].mode",
                    "f:7:28: listeners[0].downstream[0].address",
                    "f:7:49: listeners[0].downstream[0].weight", "f:8:5: listeners[1].downstream",
                    "f:8:11: listeners[1].name", "f:10:20: health.protocol",
                ])
    }

    @Test("every key has a path of its own and is described", arguments: ConfigSection.all)
    func catalog(section: ConfigSection) {
        #expect(!section.keys.isEmpty)
        for key in section.keys {
            let path = section.paths[0].isEmpty ? key.name : "\(section.paths[0]).\(key.name)"
            #expect(key.paths[0] == path)
            #expect(ConfigKey.all.count { $0.paths[0] == path } == 1)
            #expect(key.meaning.hasSuffix(".") && !key.meaning.contains("\n"))
            #expect(!key.name.isEmpty && !key.name.contains("."))
        }
    }

    @Test(
        "each section is the one that a key of another section is for", arguments: ConfigSection.all
    )
    func sections(section: ConfigSection) {
        let paths = section.paths.map { $0.hasSuffix("[]") ? String($0.dropLast(2)) : $0 }
        #expect(
            paths == [""]
                || paths.allSatisfy { path in
                    ConfigKey.all.contains { $0.paths.contains(path) }
                })
    }

    @Test("settings are at the top and inside a listener")
    func paths() {
        #expect(
            Self.key("settings", "workers")?.paths
                == ["settings.workers", "listeners[].settings.workers"])
    }

    private static func key(_ section: String, _ name: String) -> ConfigKey? {
        ConfigSection.all.first { $0.name == section }?[name]
    }

    @Test("the defaults that the reference shows are those that hold")
    func defaults() throws {
        // With the defaults written out, a file means the same as without them.
        var sections: [String] = []
        for section in ConfigSection.all
        where ["settings", "health", "metrics"].contains(section.name) {
            sections.append("\(section.paths[0]):")
            for key in section.keys {
                guard case .value(let text) = key.defaultValue else { continue }
                sections.append("  \(key.name): \(text)")
            }
        }
        let plain = try #require(Reading(Reading.good).configuration)
        #expect(Reading(Reading.good + sections.joined(separator: "\n")).configuration == plain)
        #expect(plain.settings == ListenerSettings())
        #expect(plain.health == HealthConfiguration())
        #expect(plain.metrics == MetricsConfiguration())
        let listener = try #require(plain.listeners.first)
        #expect(
            Self.key("listener", "mode")?.defaultValue == .value("\(listener.mode.rawValue)"))
        #expect(
            Self.key("listener", "balance")?.defaultValue == .value(listener.balance.rawValue))
        #expect(
            Self.key("downstream", "weight")?.defaultValue
                == .value("\(listener.downstreams[0].weight)"))
    }

    @Test("edit distance counts insertions, deletions, substitutions and swaps")
    func distance() {
        let pairs = [
            ("", "", 0), ("a", "", 1), ("bind", "bnid", 1), ("mode", "node", 1), ("abc", "ca", 3),
        ]
        for (a, b, expected) in pairs {
            #expect(Spelling.distance(Array(a.utf8), Array(b.utf8)) == expected)
        }
        #expect(Spelling.nearest(to: String(repeating: "a", count: 100_000), among: ["a"]) == nil)
    }
}
