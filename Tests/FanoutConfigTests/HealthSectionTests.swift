// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("The section health", .tags(.unit))
struct HealthSectionTests {
    static let mistakes: [(String, String)] = [
        (
            "health: {protocol: ping}",
            "health.protocol: 'ping' is not a protocol; write icmp, udp_echo, udp or tcp"
        ),
        (
            "health: {interval_secs: 3, timeout_secs: 4}",
            "health.timeout_secs: timeout_secs (4) exceeds interval_secs (3); write timeout_secs: 3 or less"
        ),
        (
            "health: {interval_secs: 1}",
            "health.interval_secs: timeout_secs (2 by default) exceeds interval_secs (1); write "
                + "timeout_secs: 1 or less"
        ),
        (
            "health: {protocol: upd}",
            "health.protocol: 'upd' is not a protocol; write udp (or icmp, udp_echo or tcp)"
        ),
        (
            "health: {port: 0}",
            "health.port: 0 is out of range; write a whole number from 1 to 65535"
        ),
        (
            "health: {rise: 0}",
            "health.rise: 0 is out of range; write a whole number from 1 to 100"
        ),
        (
            "health: {fall: 101}",
            "health.fall: 101 is out of range; write a whole number from 1 to 100"
        ),
        (
            "health: {min_healthy_percent: 101}",
            "health.min_healthy_percent: 101 is out of range; write a whole number from 0 to 100"
        ),
        (
            "health: {payload: ''}",
            "health.payload: is empty; write a text of 1 to 512 bytes, or hex: and pairs of hexadecimal "
                + "digits"
        ),
        (
            "health: {payload: 'hex:0'}",
            "health.payload: is not pairs of hexadecimal digits; write them so: \"hex:000a ff\"; blanks "
                + "do not count"
        ),
        (
            "health: {payload: 'hex:'}",
            "health.payload: is 0 bytes long; write at least one byte, or payload_preset: empty"
        ),
        (
            #"health: {payload: 'a\q'}"#,
            #"health.payload: holds an unknown escape; write \xHH, \n, \r, \t, \0, or \\ for a backslash"#
        ),
        (
            "health: {protocol: udp, payload: x, payload_preset: dns}",
            "health.payload_preset: stands beside payload; remove one of the two"
        ),
        (
            "health: {protocol: udp, payload_preset: radius_status}",
            "health.payload_preset: radius_status needs a secret, without which servers ignore it; write "
                + "radius_secret: and the secret that the servers have for this host"
        ),
        (
            "health: {payload_preset: dsn}",
            "health.payload_preset: 'dsn' is not a payload_preset; write dns (or radius_status, "
                + "sip_options, coap_ping or empty)"
        ),
        (
            "health: {protocol: udp, payload: \(String(repeating: "x", count: 513))}",
            "health.payload: is 513 bytes long; write at most 512 bytes"
        ),
        (
            "health: {timeout_secs: 6}",
            "health.timeout_secs: timeout_secs (6) exceeds interval_secs (5 by default); write "
                + "timeout_secs: 5 or less"
        ),
    ]

    @Test("its values are checked", arguments: mistakes)
    func mistake(line: String, problem: String) {
        let reading = Reading(Reading.good + line + "\n")
        #expect(reading.errors.count == 1)
        #expect(reading.errors.first?.contains(": \(problem)") == true, "\(reading.errors)")
    }

    static let unused: [(String, String)] = [
        (
            "health: {port: 80}",
            "health.port: is not used with protocol icmp, which has no port; remove it, or write "
                + "protocol: udp_echo, udp or tcp"
        ),
        (
            "health: {protocol: tcp, payload: x}",
            "health.payload: is not used with protocol tcp; remove it, or write protocol: udp"
        ),
        (
            "health: {protocol: icmp, payload_preset: dns}",
            "health.payload_preset: is not used with protocol icmp; remove it, or write protocol: udp"
        ),
        (
            "health: {protocol: udp, radius_secret: x}",
            "health.radius_secret: is not used without payload_preset: radius_status; remove it"
        ),
        (
            #"health: {protocol: udp, payload: "\xff"}"#,
            #"health.payload: in double quotes \x80 to \xff are characters, which are two bytes each; "#
                + "write it in single quotes, or as hex:"
        ),
    ]

    @Test("a key that the protocol has no use for is warned about", arguments: unused)
    func notUsed(line: String, problem: String) {
        let reading = Reading(Reading.good + line + "\n")
        #expect(reading.errors.isEmpty)
        #expect(reading.warnings.count == 1)
        #expect(reading.warnings.first?.contains(problem) == true, "\(reading.warnings)")
    }

    @Test("every key reaches the policy")
    func policy() throws {
        let text = """
            health: {enabled: true, protocol: udp, port: 81, payload: "a b", interval_secs: 9, \
            timeout_secs: 8, rise: 7, fall: 6, min_healthy_percent: 55}
            """
        let health = try #require(Reading(Reading.good + text).configuration).health
        #expect(
            health.policy
                == HealthPolicy(
                    kind: .udp, port: 81, payload: .bytes(Array("a b".utf8)), interval: .seconds(9),
                    timeout: .seconds(8), rise: 7, fall: 6, minHealthyPercent: 55))
        #expect(try #require(Reading(Reading.good).configuration).health.policy == nil)
        let plain = try #require(Reading(Reading.good + "health: {enabled: true}").configuration)
        #expect(plain.health.policy == HealthPolicy())
    }

    static let payloads: [(String, [UInt8])] = [
        ("'hex:000aFf'", [0, 10, 255]), ("'hex: 00 0a ff '", [0, 10, 255]),
        (#"'a\x00\xFF\n\r\t\0\\'"#, [97, 0, 255, 10, 13, 9, 0, 92]),
        (#""a\n\\xff""#, [97, 10, 255]), ("'é'", [0xc3, 0xa9]), ("42", [52, 50]),
        ("'hex:" + String(repeating: "61", count: 512) + "'", Array(repeating: 97, count: 512)),
    ]

    @Test("a payload is text with escapes, or hexadecimal", arguments: payloads)
    func payload(written: String, bytes: [UInt8]) throws {
        let text = Reading.good + "health: {enabled: true, protocol: udp, payload: \(written)}"
        let configuration = try #require(Reading(text).configuration, "\(Reading(text).errors)")
        #expect(configuration.health.policy?.payload == .bytes(bytes))
        #expect(Reading(configuration.effectiveYAML).configuration == configuration)
    }

    @Test("each preset has its word", arguments: ProbePayload.Preset.allCases)
    func preset(preset: ProbePayload.Preset) throws {
        let secret = preset == .radiusStatus ? ", radius_secret: s" : ""
        let text =
            Reading.good
            + "health: {enabled: true, protocol: udp, payload_preset: \(preset.rawValue)\(secret)}"
        let reading = Reading(text)
        let configuration = try #require(reading.configuration, "\(reading.errors)")
        #expect(reading.warnings.isEmpty)
        let expected = ProbePayload(preset, secret: Array("s".utf8))
        #expect(configuration.health.policy?.payload == expected)
        #expect(Reading(configuration.effectiveYAML).configuration == configuration)
    }

    @Test("passive checks go by interval and thresholds, with probes or without")
    func passive() throws {
        let text =
            "health: {passive: true, interval_secs: 9, rise: 7, fall: 6, min_healthy_percent: 5}"
        let health = try #require(Reading(Reading.good + text).configuration).health
        #expect(health.policy == nil && health.summary == "passive")
        let policy = try #require(health.passivePolicy)
        #expect(policy.interval == .seconds(9) && policy.rise == 7 && policy.fall == 6)
        #expect(policy.minHealthyPercent == 5)
        let both = try #require(
            Reading(Reading.good + "health: {enabled: true, passive: true}").configuration)
        #expect(both.health.policy != nil && both.health.passivePolicy != nil)
        #expect(both.health.summary == "icmp, passive")
        let none = try #require(Reading(Reading.good).configuration).health
        #expect(none.passivePolicy == nil && none.summary == nil)
    }

    @Test(
        "passive checks are refused where refusals go to the client",
        arguments: [
            ("preserve_source: true", "keeps the client's source"),
            ("mode: tc_ebpf\ninterface: eth0", "is of mode tc_ebpf"),
            ("mode: xdp_nat\ninterface: eth0", "is of mode xdp_nat"),
        ])
    func passiveElsewhere(lines: String, cause: String) {
        let listener = Reading.yaml(
            listener: "bind: 192.0.2.1:514\ndownstream: [{name: r, address: \"192.0.2.9:514\"}]\n"
                + lines)
        #expect(Reading(listener + "health: {passive: false}").errors == [])
        let errors = Reading(listener + "health: {passive: true}").errors
        #expect(errors.count == 1)
        #expect(
            errors.first?.hasSuffix(
                "health.passive: listener 'a' \(cause), so refusals (ICMP errors) go to the client and "
                    + "not to this host; remove it, or write mode: userspace without preserve_source "
                    + "for every listener") == true, "\(errors)")
    }

    @Test("each protocol has its word", arguments: ProbeKind.allCases)
    func words(kind: ProbeKind) throws {
        let reading = Reading(Reading.good + "health: {protocol: \(kind.rawValue)}")
        #expect(reading.configuration?.health.probes.kind == kind)
    }
}
