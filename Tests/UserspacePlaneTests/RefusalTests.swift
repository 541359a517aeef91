// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

@testable import UserspacePlane

extension UserspacePlaneTests {
    @Suite("whose receivers refuse")
    struct RefusalTests {
        @Test(
            "counts the refusal of the last datagram, which no send call reports",
            arguments: [IPAddress.Family.v4, .v6])
        func last(family: IPAddress.Family) async throws {
            let stage = Stage.userspace
            let dead = Downstream(name: "dead", endpoint: try .free(on: stage.listening(family)))
            let listener = try stage.listener(to: [dead], family: family)
            let rig = try await stage.rig([listener])
            try stage.traffic(to: listener).send([1])
            try await eventually("it is counted") {
                try await rig.counters().downstreams[0].refusals == 1
            }
            let counters = try await rig.counters()
            #expect(counters.packetsForwarded == 1 && counters.isBalanced)
            #expect(counters.downstreams[0].refusals == 1)
            await rig.stop()
        }

        @Test(
            "counts a firewall's rejections, and still sends the current datagram",
            .enabled(if: Privilege.isRoot, "needs root"))
        func firewall() async throws {
            try await Namespace.run(["link set lo up"]) {
                let stage = Stage.userspace
                let sink = try Sink(on: .loopback)
                let listener = try stage.listener(to: [sink].downstreams())
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                try Namespace.command("nft add table inet lab")
                try Namespace.command(
                    "nft add chain inet lab in { type filter hook input priority 0 ; }")
                try Namespace.command(
                    "nft add rule inet lab in udp dport \(sink.endpoint.port) "
                        + "reject with icmp type admin-prohibited")
                for number: UInt64 in 1...5 {
                    traffic.send([1])
                    try await rig.settled(at: number)
                }
                try await eventually("every rejection is counted") {
                    try await rig.counters().downstreams[0].refusals == 5
                }
                try Namespace.command("nft flush ruleset")
                traffic.send([2])
                let counters = try await rig.settled(at: 6)
                #expect(counters.packetsForwarded == 6)
                try await eventually("it arrives") { sink.datagrams.map(\.payload) == [[2]] }
                await rig.stop()
            }
        }

        @Test(
            "tries a disabled receiver with one datagram",
            arguments: [Balance.roundRobin, .sourceIP])
        func trial(balance: Balance) async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(4)
            var downstreams = sinks.downstreams(weights: [1, 1, 0, 1])
            for index in [1, 2, 3] { downstreams[index].isEnabled = false }
            let listener = try stage.listener("in", balance, to: downstreams)
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            func send() async throws -> [UInt64] {
                let total = sinks.total
                #expect(traffic.sendSuperPacket(bytes: 100, segment: 10) == 10)
                for _ in 0..<10 { traffic.send([1]) }
                try await eventually("all arrive") { sinks.total == total + 20 }
                return sinks.counts
            }
            #expect(try await send() == [20, 0, 0, 0])
            // An enabled receiver and one of weight 0 get no trial.
            await rig.plane.tryOut(Set(downstreams[0...2].map(\.endpoint)))
            #expect(try await send() == [39, 1, 0, 0])
            #expect(try await send() == [59, 1, 0, 0])
            await rig.plane.tryOut(Set(downstreams.map(\.endpoint)))
            // One batch tries one receiver.
            _ = try await send()
            #expect(try await send() == [97, 2, 0, 1])
            let counters = try await rig.settled(at: 100)
            #expect(counters.downstreams.map(\.packetsForwarded) == [97, 2, 0, 1])
            await rig.stop()
        }

        @Test("a change of receivers cancels trials")
        func change() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(2)
            var listener = try stage.listener(to: sinks.downstreams())
            listener.downstreams[1].isEnabled = false
            let rig = try await stage.rig([listener])
            await rig.plane.tryOut([sinks[1].endpoint])
            listener.downstreams[0] = Downstream(
                name: "a", endpoint: sinks[0].endpoint, weight: 2)
            try await rig.apply([listener])
            let traffic = try stage.traffic(to: listener)
            for _ in 0..<10 { traffic.send([1]) }
            try await eventually("all arrive") { sinks.total == 10 }
            #expect(sinks.counts == [10, 0])
            await rig.stop()
        }

        @Test("each flag is taken once, in order")
        func flags() {
            let trials = Trials()
            #expect(trials.flags.take() == -1)
            for index in [1023, 0, 63, 64, 1024] { trials.flags.set(index) }
            #expect((0..<5).map { _ in trials.flags.take() } == [0, 63, 64, 1023, -1])
            trials.flags.set(7)
            trials.flags.clear()
            #expect(trials.flags.take() == -1)
        }
    }
}
