// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import Testing
import Tiers

@Suite("settings.keep_capabilities", .tags(.unit))
struct KeptCapabilitiesTests {
    private func reading(_ value: String) -> Reading {
        Reading(Reading.good + "settings:\n  keep_capabilities: \(value)\n")
    }

    @Test("is empty by default, and a list of the words of the contract")
    func words() {
        #expect(Reading(Reading.good).configuration?.keptCapabilities == [])
        #expect(reading("[]").configuration?.keptCapabilities == [])
        #expect(
            reading("[net_raw, net_bind_service]").configuration?.keptCapabilities
                == [.netRaw, .netBindService])
        #expect(
            reading("[net_admin, bpf, perfmon]").configuration?.keptCapabilities
                == [.netAdmin, .bpf, .perfmon])
    }

    @Test("that a listener's own settings name counts for the process")
    func ofListener() {
        let reading = Reading(
            listener: """
                bind: 0.0.0.0:514
                downstream: [{name: r, address: "192.0.2.1:514"}]
                settings: {keep_capabilities: [net_raw]}
                """)
        #expect(reading.configuration?.keptCapabilities == [.netRaw])
    }

    @Test("anything else is refused with what to write", arguments: ["[sys_admin]", "[[]]", "[1]"])
    func wrong(value: String) throws {
        let error = try #require(reading(value).errors.first)
        #expect(error.contains("net_raw, net_bind_service, net_admin, bpf or perfmon"), "\(error)")
    }

    @Test("a single word is no list")
    func word() { #expect(!reading("net_raw").errors.isEmpty) }
}
