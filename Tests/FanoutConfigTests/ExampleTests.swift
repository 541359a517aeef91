// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Foundation
import Testing
import Tiers

@Suite(
    "config.example.yaml shows every key and loads, as it is and with every key in use",
    .tags(.unit))
struct ExampleTests {
    static let text: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let path = root.appendingPathComponent("config.example.yaml").path
        return (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }()

    /// The example with every `#key: value` in use; `# prose` stays a comment.
    static var everyKey: String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let indent = line.prefix { $0 == " " }
            let rest = line.dropFirst(indent.count)
            guard rest.first == "#", let next = rest.dropFirst().first, next != " " else {
                return String(line)
            }
            return String(indent + rest.dropFirst())
        }.joined(separator: "\n")
    }

    @Test("as it is, it serves syslog with two local receivers")
    func asItIs() throws {
        let reading = Reading(Self.text)
        let configuration = try #require(reading.configuration, "\(reading.errors)")
        #expect(reading.warnings.isEmpty)
        #expect(
            configuration
                == Configuration(
                    listeners: [
                        ListenerConfiguration(
                            name: "syslog", bind: Endpoint(IPAddress(v4: 0), port: 5514),
                            downstreams: [
                                DownstreamConfiguration(
                                    name: "sink-1",
                                    address: Endpoint(IPAddress(v4: 0x7f00_0001), port: 5515)),
                                DownstreamConfiguration(
                                    name: "sink-2",
                                    address: Endpoint(IPAddress(v4: 0x7f00_0001), port: 5516)),
                            ])
                    ],
                    metrics: MetricsConfiguration(
                        enabled: true, bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 9090))))
        #expect(configuration.unsupported(modes: [.userspace]).isEmpty)
    }

    @Test("with every key in use it loads, and warns about the legacy key alone")
    func withEveryKey() throws {
        let reading = Reading(Self.everyKey)
        let configuration = try #require(reading.configuration, "\(reading.errors)")
        #expect(
            configuration.listeners.map(\.mode)
                == [.userspace, .afXDP, .userspace, .userspace, .xdpNAT])
        #expect(configuration.listeners[0].settings.workers == 1)
        #expect(configuration.listeners[1].kubernetes?.service == "udp-receivers")
        #expect(configuration.listeners[2].file?.port == 2055)
        #expect(configuration.listeners[3].dns?.name == "receivers.example.com")
        let unused = [
            "downstream[0].mac", "health.port", "health.payload", "health.payload_preset",
            "health.radius_secret",
        ]
        #expect(reading.warnings.count == unused.count)
        for (warning, key) in zip(reading.warnings, unused) {
            #expect(warning.contains("\(key): is not used"), "\(warning)")
        }
    }

    @Test(
        "every key of the catalog is in it, with a line that explains it",
        arguments: ConfigKey.all)
    func shows(key: ConfigKey) {
        let lines = Self.text.split(separator: "\n").map { $0.drop { $0 == " " || $0 == "#" } }
        let all = Self.text.split(separator: "\n").map { $0.drop { $0 == " " } }
        let index = lines.indices.first { index in
            let line = all[index].first == "#" ? all[index].dropFirst() : all[index]
            return line.hasPrefix("\(key.name):") || line.hasPrefix("- \(key.name):")
        }
        #expect(index != nil)
        if let index, index > 0 {
            let above = all[..<index].last { !$0.isEmpty } ?? ""
            #expect(above.hasPrefix("# ") || key.paths == ["listeners"] || above.hasPrefix("#- "))
        }
    }

    @Test("the defaults that it shows are those of the catalog")
    func defaults() throws {
        let settings = try #require(Reading(Self.everyKey).configuration)
        #expect(settings.settings == ListenerSettings())
        // All but the first have no default that could be written.
        var health = HealthConfiguration()
        health.enabled = true
        health.probes.port = 8080
        health.payload = #"alive?\n"#
        health.payloadPreset = .dns
        health.radiusSecret = "testing123"
        #expect(settings.health == health)
    }
}
