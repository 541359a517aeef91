// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import FanoutCore
import Foundation
import Glibc
import LabNet
import PlaneContract
import Testing

extension AFXDPPlaneTests {
    @Suite("with several queues")
    struct QueueTests {
        /// Replaces the client's veth by one with several queues.
        private func widen(_ lab: VethLab, queues: Int) throws {
            try lab.balancer.ip("link delete lb0")
            let shape = "numrxqueues \(queues) numtxqueues \(queues)"
            try lab.balancer.ip(
                "link add lb0 \(shape) type veth peer name c0 netns \(lab.client.path) \(shape)")
            for (network, name, number) in [(lab.balancer, "lb0", 1), (lab.client, "c0", 2)] {
                try network.set("ipv4/conf/\(name)/rp_filter", to: "0")
                try network.ip("link set \(name) up")
                try network.ip("address add \(VethLab.v4(0, number))/24 dev \(name)")
            }
            try lab.client.ip("route add default via \(VethLab.v4(0, 1))")
        }

        @Test("every queue has a worker, and together they count and forward everything")
        func everyQueue() async throws {
            let (lab, log) = (try VethLab(), LogRecorder())
            try widen(lab, queues: 4)
            try await lab.balancer.run {
                let stage = try lab.stage(logger: log.logger)
                let sinks = try stage.sinks(3, keepsPayloads: false)
                let listener = try stage.listener("in", .sourceIP, to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                #expect(try await rig.counters().workers == 4)
                let said = log.lines("detected available RX queues on interface")
                #expect(said.map(\.fields["queues"]) == ["4"])
                let sources = try (0..<64).map { try stage.traffic(to: listener, client: $0) }
                let report = try await Load(sources, rate: 20_000, duration: .seconds(1)).finish()
                let counters = try await rig.settled(at: report.datagrams)
                #expect(counters.packetsForwarded == report.datagrams)
                try await eventually("all arrive") {
                    sinks.map(\.arrivals).reduce(0, +) == report.datagrams
                }
                try await AccountingTests.check(rig.plane)
                #expect(await rig.plane.queueCounters().map(\.queue).sorted() == [0, 1, 2, 3])
                await rig.stop()
            }
        }

        /// The kernel removes no queue that a socket is bound to.
        @Test("added queues are served, and queues in use cannot be removed")
        func followed() async throws {
            let lab = try VethLab()
            try widen(lab, queues: 4)
            try lab.client.command("ethtool -L c0 rx 2 tx 1")
            try lab.balancer.command("ethtool -L lb0 rx 2 tx 1")
            try await lab.balancer.run {
                let stage = try lab.stage()
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                #expect(try await rig.counters().workers == 2)
                try lab.balancer.command("ethtool -L lb0 rx 4 tx 4")
                try await eventually("it has four") { try await rig.counters().workers == 4 }
                #expect(throws: CommandFailed.self) {
                    try lab.balancer.command("ethtool -L lb0 rx 1 tx 1")
                }
                let traffic = try stage.traffic(to: listener)
                for _ in 0..<100 { traffic.send([1]) }
                try await eventually("all arrive") { sinks[0].count == 100 }
                #expect(try await rig.settled(at: 100).packetsForwarded == 100)
                await rig.stop()
            }
        }

        @Test("the next daemon takes over at once, without a break for other traffic")
        func restart() async throws {
            let lab = try VethLab()
            try await lab.balancer.run {
                let stage = try lab.stage()
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let beside = try lab.balancer.enter {
                    try Sink(on: VethLab.v4(0, 1), keepsPayloads: false)
                }
                let other = try lab.client.enter {
                    try Traffic(to: beside.endpoint, from: VethLab.v4(9, 7))
                }
                let load = try Load([other], rate: 5000)
                let traffic = try stage.traffic(to: listener)
                for round in 1...10 {
                    let rig = try await stage.rig([listener])
                    let before = sinks[0].count
                    try await eventually("round \(round) forwards") {
                        traffic.send([1])
                        return sinks[0].count > before
                    }
                    let last = await rig.stop()
                    #expect(last.allSatisfy { $0.isBalanced })
                }
                let report = await load.stop()
                try await eventually("nothing of it was lost") {
                    beside.arrivals == report.datagrams
                }
            }
        }

        @Test("an idle worker sleeps, and memory stays within 64 MiB a queue")
        func idle() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                let before = try self.cpuTime()
                try await Task.sleep(for: .seconds(3))
                let share = (try self.cpuTime() - before) / 3
                #expect(share < 0.02, "\(share * 100) % of a CPU")
                let census = try #require(await (post.rig.plane as? AFXDPPlane)?.censuses().first)
                #expect(census.owned * 2048 <= 16 << 20)
            }
        }

        /// Seconds of CPU that the workers of this process have used (proc(5), schedstat).
        private func cpuTime() throws -> Double {
            var workers = 0
            var seconds = 0.0
            for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
                let folder = "/proc/self/task/\(task)/"
                guard let name = try? String(contentsOfFile: folder + "comm", encoding: .utf8),
                    name.hasPrefix("xdp-"),
                    let text = try? String(contentsOfFile: folder + "schedstat", encoding: .utf8)
                else { continue }
                workers += 1
                seconds += (Double(text.prefix { $0 != " " }) ?? 0) / 1e9
            }
            try #require(workers > 0)
            return seconds
        }
    }
}
