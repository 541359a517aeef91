// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension TCPlaneTests {
    @Suite("with datagrams in fragments")
    struct FragmentTests {
        private static let datagrams = 30
        private static let payloadBytes = 2500

        private func payload(_ number: Int) -> [UInt8] {
            (0..<Self.payloadBytes).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ number) }
        }

        /// Reassembly in a network: received fragments, and reassembled datagrams.
        private func reassembled(_ network: Network, _ family: IPAddress.Family) throws -> [Int] {
            let prefix = family == .v4 ? "Ip" : "Ip6"
            let shown = try network.enter {
                try Shell.output("nstat -asz \(prefix)ReasmReqds \(prefix)ReasmOKs")
            }
            let lines = shown.split(separator: "\n").filter { !$0.hasPrefix("#") }
            return ["ReasmReqds", "ReasmOKs"].map { name in
                lines.first { $0.hasPrefix(prefix + name) }.flatMap {
                    Int($0.split(separator: " ")[1])
                } ?? -1
            }
        }

        /// Sends the datagrams' fragments in this order, those of different datagrams mixed.
        private func send(
            _ order: [Int], _ family: IPAddress.Family, _ lab: VethLab, to target: Endpoint
        ) throws {
            let source = Endpoint(VethLab.address(family, 9, 1), port: 4000)
            let sender = try lab.client.enter { try PacketSender(family) }
            let all = (0..<Self.datagrams).map { number in
                FragmentedDatagram(
                    payload(number), from: source, to: target, id: 0x1_0100 + UInt32(number),
                    bytes: 1000)
            }
            #expect(all.allSatisfy { $0.packets.count == order.count })
            for index in order {
                for datagram in all { try sender.send(index, of: datagram) }
            }
        }

        @Test(
            "first fragment first: each arrives whole at one receiver",
            arguments: [IPAddress.Family.v4, .v6], [[0, 1, 2], [0, 2, 1]])
        func firstFirst(family: IPAddress.Family, order: [Int]) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(3, family)
                let listener = try stage.listener(to: sinks.downstreams(), family: family)
                let rig = try await stage.rig([listener])
                try send(order, family, lab, to: listener.bind)
                let count = UInt64(Self.datagrams)
                let counters = try await rig.settled(at: count)
                #expect(counters.packetsForwarded == count)
                try await eventually("all arrive") { sinks.total == count }
                #expect(sinks.counts == [10, 10, 10])
                let payloads = Set(sinks.flatMap { $0.datagrams.map(\.payload) })
                #expect(payloads == Set((0..<Self.datagrams).map(payload)))
                // A receiver that got a part of a datagram got all of it.
                for receiver in lab.receivers {
                    #expect(try reassembled(receiver, family) == [30, 10])
                }
                await rig.stop()
            }
        }

        enum Replacement: CaseIterable {
            /// The tables grow, which needs another program.
            case growth
            /// The process is killed, and the next one starts.
            case restart
        }

        @Test(
            "started before the program is replaced: the rest goes to the same receiver",
            arguments: Replacement.allCases, TCAttach.here)
        func replaced(by replacement: Replacement, attach: TCAttach) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = attach
                let sinks = try stage.sinks(3)
                var listener = try stage.listener(to: sinks.downstreams())
                listener.settings.maxDownstream = 4
                var rig: Rig? = try await stage.rig([listener])
                let sender = try lab.client.enter { try PacketSender(.v4) }
                // The choice holds for a second; a busy machine may take longer.
                for attempt in 1...20 {
                    let datagram = FragmentedDatagram(
                        payload(attempt), from: Endpoint(VethLab.v4(9, 1), port: 4000),
                        to: listener.bind, id: 0x2_0100 + UInt32(attempt), bytes: 1000)
                    let start = ContinuousClock.now
                    try sender.send(0, of: datagram)
                    if replacement == .restart {
                        rig = nil
                        rig = try await stage.rig([listener])
                    } else {
                        listener.settings.maxDownstream += 4
                        try await rig?.apply([listener])
                    }
                    for index in 1..<datagram.packets.count {
                        try sender.send(index, of: datagram)
                    }
                    guard ContinuousClock.now - start < .seconds(1) else { continue }
                    try await eventually("all of the datagram is at one receiver") {
                        sinks.contains { $0.datagrams.map(\.payload) == [payload(attempt)] }
                    }
                    await rig?.stop()
                    #expect(pins.isEmpty)
                    return
                }
                Issue.record("no replacement took less than a second")
            }
        }

        @Test(
            "first fragment later: none reaches a receiver in parts, and none is counted",
            arguments: [IPAddress.Family.v4, .v6], [[1, 0, 2], [2, 1, 0], [1, 2, 0]])
        func firstLater(family: IPAddress.Family, order: [Int]) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(3, family)
                let listener = try stage.listener(to: sinks.downstreams(), family: family)
                let rig = try await stage.rig([listener])
                try send(order, family, lab, to: listener.bind)
                // The balancer's own stack has reassembled them, without a socket for them.
                try await eventually("all fragments went to the stack") {
                    try reassembled(lab.balancer, family) == [3 * Self.datagrams, Self.datagrams]
                }
                try stage.traffic(to: listener).send([1])
                try await rig.settled(at: 1)
                try await eventually("what came after arrives") { sinks.total == 1 }
                for receiver in lab.receivers {
                    #expect(try reassembled(receiver, family) == [0, 0])
                }
                await rig.stop()
            }
        }
    }
}
