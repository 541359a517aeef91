// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing
import Tiers

/// Reports of unreachable listeners and receivers.
@Suite(
    "Out of reach", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct ReachTests {
    /// A listener at the addresses of its interface, with the receivers r0 and `far`, to which there is no route.
    private func config(_ mode: ForwardingMode, _ sinks: [Sink], metrics: UInt16) -> String {
        let bind =
            mode == .xdpNAT
            ? "\(VethLab.v4(0, 1)):\(VethLab.port)" : "0.0.0.0:\(VethLab.port)"
        return """
            listeners:
              - name: in
                bind: "\(bind)"
                mode: \(mode.rawValue)
                interface: lb0
                balance: source_ip
                downstream:
                  - {name: r0, address: "\(sinks[0].endpoint)"}
                  - {name: far, address: "192.0.2.9:9"}
            settings: {xdp_mode: skb}
            metrics: {enabled: true, bind: "127.0.0.1:\(metrics)"}

            """
    }

    @Test(
        "a receiver without a route is out of reach in every report until a route is added",
        arguments: [ForwardingMode.tcEBPF, .afXDP, .xdpNAT])
    func receiver(mode: ForwardingMode) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let port = try Ports.free()
            let yaml = config(mode, sinks, metrics: port)
            try await DaemonUnderTest.running(yaml) { daemon in
                #expect(try daemon.receiver("r0")?.state == .ready)
                #expect(try daemon.receiver("far")?.state == .outOfReach)
                #expect(try await HTTP.get("/", port: port).body.contains("out of reach"))
                #expect(try await HTTP.get("/readyz", port: port).status == 200)
                let sources = (1...40).map { "10.9.9.\($0):5" }
                var told: Set<Bool> = []
                for source in sources {
                    let answer = try await daemon.command([
                        "explain", source, "\(VethLab.v4(0, 1)):\(VethLab.port)",
                    ])
                    let isFar = answer.output.contains("→ \(VethLab.v4(0, 1)):\(VethLab.port): far")
                    #expect(answer.output.contains("far is out of reach") == isFar)
                    told.insert(isFar)
                }
                #expect(told == [true, false], "both receivers own slots")
                try lab.balancer.ip("route add 192.0.2.0/24 via \(VethLab.v4(1, 2))")
                try await eventually("it is within reach") {
                    try daemon.receiver("far")?.state == .ready
                }
            }
        }
    }

    @Test(
        "a listener that serves nothing is not ready; that, and its return, are logged",
        arguments: [ForwardingMode.tcEBPF, .afXDP])
    func listener(mode: ForwardingMode) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let port = try Ports.free()
            try await DaemonUnderTest.running(config(mode, sinks, metrics: port)) { daemon in
                func readiness() async throws -> String {
                    try await HTTP.get("/readyz", port: port).body
                }
                #expect(try await readiness() == "ready\n")
                let address = "address del \(VethLab.v4(0, 1))/24 dev lb0"
                try lab.balancer.ip(address)
                try await daemon.logs("listener serves nothing, its interface has no address")
                try await eventually("it is not ready") {
                    try await readiness()
                        == "listener in serves nothing: interface lb0 has no address\n"
                }
                try lab.balancer.ip(address.replacing("del", with: "add"))
                let line = try await daemon.logs("listener serves again")
                #expect(line.fields["listener"] == "in")
                #expect(try await readiness() == "ready\n")
                try lab.balancer.ip("link set lb0 down")
                try await eventually("it is not ready") {
                    try await readiness()
                        == "listener in serves nothing: interface lb0 is down\n"
                }
                try lab.balancer.ip("link set lb0 up")
                try await eventually("it is ready") { try await readiness() == "ready\n" }
            }
        }
    }
}
