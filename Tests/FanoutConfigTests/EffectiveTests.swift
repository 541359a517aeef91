// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("The effective configuration loads back to what it was", .tags(.unit))
struct EffectiveTests {
    static let files: [String] = [
        ExampleTests.text, ExampleTests.everyKey, Reading.good,
        Reading.good.replacing(
            "name: a\n", with: "name: \"no \\\" \\\\ 'x': #é\\ue000\\U0010ffff\"\n"),
        Reading.yaml(
            listener: """
                bind: "[fe80::1%eth0]:514"
                mode: xdp_nat
                balance: iphash
                interface: "1:30"
                addresses: ["2001:db8::1"]
                one_arm: true
                kubernetes: {service: "012", port: "0x", namespace: "no"}
                settings: {pin_cpus: false, share_port: true, recv_buf_size: 1073741824}
                """
        ).replacing("interface: \"1:30\"", with: "interface: \"012\"").replacing(
            "\"0x\"", with: "no"),
        Reading.yaml(listener: "bind: 0.0.0.0:1\nfile: {path: \"a b\", port: 2}"),
        Reading.yaml(listener: "bind: 0.0.0.0:1\ndns: {name: a.b, port: 2, server: \"[::1]:53\"}"),
        Reading.yaml(listener: "bind: 0.0.0.0:1\ndns: {name: _a._udp.b}"),
        Reading.yaml(
            listener: """
                vip: 192.0.2.1
                ports: [5683, 5684]
                mode: xdp_nat
                interface: eth0
                protocol: both
                max_associations: 1000
                unanswered: false
                settings: {xdp_mode: skb}
                downstream: [{name: a, address: 192.0.2.9}, {name: b, address: "192.0.2.8:5683"}]
                """),
        Reading.yaml(
            listener: """
                bind: "[::]:514"
                mode: tc_ebpf
                interface: eth0
                addresses: any
                settings: {steer: kernel, tc_attach: clsact, seed: 77, xdp_mode: skb, busy_poll: true, slow_start_secs: 30}
                downstream: [{name: "null", address: "192.0.2.1:1", mac: 0A-00-00-00-00-01, weight: 0}]
                """) + "settings: {keep_capabilities: [perfmon, net_raw]}\n",
    ]

    @Test("what is written out loads back to an equal configuration", arguments: files)
    func roundTrip(text: String) throws {
        let reading = Reading(text)
        let first = try #require(reading.configuration, "\(reading.errors)")
        let second = Reading(first.effectiveYAML)
        #expect(second.configuration == first, "\(second.errors)\n\(first.effectiveYAML)")
        #expect(second.configuration?.effectiveYAML == first.effectiveYAML)
    }

    @Test("every key that has a value is written out")
    func complete() throws {
        let configuration = try #require(Reading(Reading.good).configuration)
        #expect(
            configuration.effectiveYAML == """
                listeners:
                  - name: "a"
                    bind: "0.0.0.0:514"
                    mode: userspace
                    balance: round_robin
                    preserve_source: false
                    downstream:
                      - name: "r"
                        address: "192.0.2.1:514"
                        weight: 1
                        backup: false
                    settings:
                      max_packet_size: 9000
                      max_downstream: 64
                      batch_size: 32
                      workers: 0
                      pin_cpus: true
                      recv_buf_size: 0
                      share_port: false
                      steer: source_ip
                      tc_attach: auto
                      seed: 0
                      xdp_mode: auto
                      busy_poll: false
                      slow_start_secs: 0
                settings:
                  max_packet_size: 9000
                  max_downstream: 64
                  batch_size: 32
                  workers: 0
                  pin_cpus: true
                  recv_buf_size: 0
                  share_port: false
                  steer: source_ip
                  tc_attach: auto
                  seed: 0
                  xdp_mode: auto
                  busy_poll: false
                  slow_start_secs: 0
                health:
                  enabled: false
                  interval_secs: 5
                  timeout_secs: 2
                  protocol: icmp
                  rise: 1
                  fall: 3
                  min_healthy_percent: 0
                  passive: false
                metrics:
                  enabled: false
                  bind: "0.0.0.0:9090"
                  path: "/metrics"
                control:
                  enabled: true

                """)
    }

    @Test(
        "every key of the catalog is written out when it has a value", arguments: ConfigKey.all
    )
    func everyKey(key: ConfigKey) throws {
        let configuration = try #require(Reading(ExampleTests.everyKey).configuration)
        let lines = configuration.effectiveYAML.split(separator: "\n").map {
            $0.drop { " -".contains($0) }
        }
        #expect(lines.contains { $0.hasPrefix("\(key.name):") })
    }

    @Test("where a value stands is no part of a configuration")
    func places() throws {
        let first = try #require(Reading(Reading.good).configuration)
        let second = try #require(Reading("\n\n# moved\n" + Reading.good).configuration)
        #expect(first == second)
    }
}
