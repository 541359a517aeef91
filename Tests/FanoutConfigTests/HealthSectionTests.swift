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
            "health.interval_secs: timeout_secs (2 unless written) exceeds interval_secs (1); write "
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
        ("health: {payload: ''}", "health.payload: is empty; write a text of 1 to 512 bytes"),
        (
            "health: {protocol: udp, payload: \(String(repeating: "x", count: 513))}",
            "health.payload: is 513 bytes long; write a text of 1 to 512 bytes"
        ),
        (
            "health: {timeout_secs: 6}",
            "health.timeout_secs: timeout_secs (6) exceeds interval_secs (5 unless written); write "
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
                    kind: .udp, port: 81, payload: Array("a b".utf8), interval: .seconds(9),
                    timeout: .seconds(8), rise: 7, fall: 6, minHealthyPercent: 55))
        #expect(try #require(Reading(Reading.good).configuration).health.policy == nil)
        let plain = try #require(Reading(Reading.good + "health: {enabled: true}").configuration)
        #expect(plain.health.policy == HealthPolicy())
    }

    @Test("each protocol has its word", arguments: ProbeKind.allCases)
    func words(kind: ProbeKind) throws {
        let reading = Reading(Reading.good + "health: {protocol: \(kind.rawValue)}")
        #expect(reading.configuration?.health.probeProtocol == kind)
    }
}
