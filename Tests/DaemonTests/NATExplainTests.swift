// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Testing

extension DaemonTests.NATCommandTests {
    private static func config(_ lab: OneArmLab, weights: [Int]) -> String {
        let receivers = weights.enumerated().map { index, weight in
            "      - {name: r\(index), address: \(lab.server(index)), weight: \(weight)}"
        }
        return """
            listeners:
              - name: things
                mode: xdp_nat
                interface: eth0
                vip: \(lab.address)
                ports: \(OneArmLab.ports)
                one_arm: true
                balance: source_ip
                downstream:
            \(receivers.joined(separator: "\n"))
            """
    }

    @Test("explain names the server that a client is associated with, on every port")
    func explain() async throws {
        let lab = try OneArmLab()
        let sinks = try lab.sinks()
        try await lab.balancer.run(ownMounts: true) {
            try await DaemonUnderTest.running(Self.config(lab, weights: [1, 1])) { daemon in
                for (index, port) in OneArmLab.ports.enumerated() {
                    let traffic = try lab.traffic(port)
                    let target = "\(Endpoint(lab.address, port: port))"
                    func explained() throws -> ExplanationReport? {
                        try ControlClient(path: daemon.controlPath).ask(
                            ControlRequest(.explain, from: "\(traffic.source)", to: target)
                        ).explanation
                    }
                    let before = try #require(try explained())
                    #expect(before.associated == false && before.key != nil)
                    let counts = sinks.map { $0[index].count }
                    traffic.send([1])
                    try await eventually("a server gets the packet") {
                        sinks.indices.contains { sinks[$0][index].count > counts[$0] }
                    }
                    let met = try #require(
                        sinks.indices.first { sinks[$0][index].count > counts[$0] })
                    #expect(before.receiver == "r\(met)")
                    // The other server has all slots, and the client stays.
                    try await daemon.reload(
                        Self.config(lab, weights: sinks.indices.map { $0 == met ? 0 : 1 }))
                    let after = try #require(try explained())
                    #expect(after.associated == true && after.receiver == "r\(met)")
                    #expect(after.receiverAddress == "\(lab.server(met)):\(port)")
                    let text = try await daemon.command(["explain", "\(traffic.source)", target])
                    #expect(text.output.contains("has an association with r\(met)"))
                    #expect(after.shares[met].slots == 0)
                    try await daemon.reload(Self.config(lab, weights: [1, 1]))
                }
                let none = try await daemon.command(["explain", "192.0.2.7:5", "192.0.2.8:5"])
                #expect(none.errors.contains("things \(lab.address):5683,5684"))
            }
        }
    }
}
