// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

/// The sample configurations of the systems that this daemon replaces, as their documents print
/// them.
@Suite("A file of the systems before loads unchanged", .tags(.unit))
struct SampleTests {
    @Test("the smoke test of the userspace mode, with settings inside the listener")
    func smokeTest() throws {
        let configuration = try #require(
            Reading(
                """
                listeners:
                  - name: test-fanout
                    bind: "127.0.0.1:19000"
                    mode: userspace
                    downstream:
                      - name: sink-1
                        address: "127.0.0.1:19001"
                      - name: sink-2
                        address: "127.0.0.1:19002"
                      - name: sink-3
                        address: "127.0.0.1:19003"
                    settings:
                      workers: 1
                metrics:
                  enabled: true
                  bind: "127.0.0.1:19090"
                  path: /metrics
                """
            ).configuration)
        let listener = try #require(configuration.listeners.first)
        #expect(listener.settings == ListenerSettings(workers: 1))
        #expect(listener.downstreams.map(\.address.port) == [19001, 19002, 19003])
        #expect(configuration.settings == ListenerSettings())
        #expect(configuration.metrics.enabled)
        #expect(configuration.metrics.bind.description == "127.0.0.1:19090")
        #expect(configuration.unsupported(modes: [.userspace]).isEmpty)
    }

    @Test("the userspace mode")
    func userspace() {
        let reading = Reading(
            """
            listeners:
              - name: syslog
                bind: "0.0.0.0:5514"
                mode: userspace
                downstream:
                  - name: sink-1
                    address: "10.0.0.1:5514"
                  - name: sink-2
                    address: "10.0.0.2:5514"
            """)
        #expect(reading.listener?.downstreams.map(\.name) == ["sink-1", "sink-2"])
        #expect(reading.warnings.isEmpty)
    }

    @Test("the tc_ebpf mode with discovery")
    func discovery() throws {
        let reading = Reading(
            """
            listeners:
              - name: syslog
                bind: "0.0.0.0:5514"
                interface: eth0
                mode: tc_ebpf
                kubernetes:
                  namespace: logging
                  service: vector-receivers
                  port: 5514

            health:
              enabled: true
              interval_secs: 5
              timeout_secs: 2
              protocol: icmp

            metrics:
              enabled: true
              bind: "0.0.0.0:9090"
            """)
        let configuration = try #require(reading.configuration)
        #expect(
            configuration.listeners[0].kubernetes
                == KubernetesConfiguration(
                    namespace: "logging", service: "vector-receivers", port: .number(5514)))
        #expect(configuration.health.enabled)
        #expect(
            configuration.unsupported(modes: [.userspace]).map(\.description) == [
                "f:5:11: listeners[0].mode: mode tc_ebpf is not part of this build; write mode: userspace"
            ])
        #expect(configuration.unsupported(modes: [.userspace, .tcEBPF]).isEmpty)
        let name = DiscoverySubject.ServiceName(
            namespace: "logging", service: "vector-receivers")
        #expect(
            configuration.desiredState.listeners[0].discovery
                == ListenerDiscovery(receivers: .endpointSlices(name), port: .number(5514)))
    }

    @Test("the af_xdp mode behind MetalLB")
    func metalLB() {
        let reading = Reading(
            """
            listeners:
              - name: market-data
                bind: "0.0.0.0:9000"
                interface: eth0
                mode: af_xdp
                kubernetes:
                  namespace: trading
                  service: udp-receivers
                  port: 9000

            health:
              enabled: true
              protocol: udp_echo

            metrics:
              enabled: true
              bind: "0.0.0.0:9090"
            """)
        #expect(reading.listener?.mode == .afXDP)
        #expect(reading.configuration?.health.probes.kind == .udpEcho)
        #expect(reading.warnings.isEmpty)
    }

    @Test("a fragment without receivers is told what it lacks, and nothing else")
    func fragment() {
        let reading = Reading(
            """
            listeners:
              - name: "vector-af-xdp"
                mode: af_xdp
                bind: "172.31.25.200:514"
                interface: "ens5"
            """)
        #expect(
            reading.errors == [
                "f:2:5: listeners[0].downstream: is missing; write at least one receiver, or kubernetes, "
                    + "file or dns to find them"
            ])
    }
}
