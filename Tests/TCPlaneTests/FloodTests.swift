// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension TCPlaneTests {
    @Suite("under a flood of frames", .tags(.load))
    struct FloodTests {
        private static let rounds = 100

        @Test(
            "no packet of a flood sees an empty or missing table while tables change",
            .enabled(
                if: KernelRelease.running >= .takesFrags,
                "NOT TESTED: live frames need Linux \(KernelRelease.takesFrags)"))
        func churn() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            for receiver in lab.receivers { try Self.countAndDrop(at: receiver) }
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let churn = Churn(
                    first: try stage.listener("first", to: []),
                    second: try stage.listener("second", to: []))
                let rig = try await stage.rig(churn.listeners(in: 0))
                let flood = try FrameFlood(to: churn.target, by: "lb0")
                try await eventually("the flood has begun") { flood.sent > 0 }
                let begun = ContinuousClock.now
                for round in 1...Self.rounds { try await rig.apply(churn.listeners(in: round)) }
                let took = ContinuousClock.now - begun
                let sent = try flood.stop()
                let last = await rig.stop()
                #expect(last.map(\.listener) == ["first", "second"])
                let received = last.map(\.packetsReceived)
                #expect(received.reduce(0, +) == sent, "\(received) of \(sent) in \(took)")
                // Each had the flood's address for a good part of the time.
                #expect(received.allSatisfy { $0 > sent / 4 }, "\(received) of \(sent)")
                for counters in last {
                    #expect(counters.isBalanced, "\(counters)")
                    #expect(counters.drops.allSatisfy { $0.value == 0 }, "\(counters.drops)")
                }
                let arrived = try lab.receivers.map(Self.arrived).reduce(0, +)
                #expect(arrived == last.map(\.packetsForwarded).reduce(0, +))
            }
        }

        /// Receivers that drop datagrams at once, and count them.
        private static func countAndDrop(at receiver: Network) throws {
            try receiver.command("nft add table netdev lab")
            try receiver.command(
                "nft add chain netdev lab in { type filter hook ingress device in0 priority 0 ; }")
            try receiver.command("nft add rule netdev lab in ip protocol udp counter drop")
        }

        /// The number of datagrams that a receiver has dropped.
        private static func arrived(at receiver: Network) throws -> UInt64 {
            let shown = try receiver.enter { try Shell.output("nft list chain netdev lab in") }
            let count = try #require(shown.firstMatch(of: #/packets (\d+)/#), "\(shown)")
            return try #require(UInt64(count.1))
        }
    }
}

/// The two listeners at each change: receivers are added, removed and reweighted, and the flooded address moves from
/// one listener to the other, alone on its port or not.
private struct Churn {
    let first: Listener
    let second: Listener

    var target: Endpoint { first.bind }

    func listeners(in round: Int) -> [Listener] {
        var (first, second) = (first, second)
        // The same port of an address that is not the host's, or a port of its own.
        let elsewhere =
            round / 4 % 2 == 0 ? second.bind : Endpoint(VethLab.v4(9, 99), port: target.port)
        let isFirsts = round / 3 % 2 == 0
        (first.bind, second.bind) = isFirsts ? (target, elsewhere) : (elsewhere, target)
        (first.downstreams, second.downstreams) = (downstreams(round), downstreams(round + 2))
        return [first, second]
    }

    private func downstreams(_ round: Int) -> [Downstream] {
        let weights = [1, UInt16(1 + round % 3), UInt16(round % 2), UInt16(round % 5)]
        let count = 1 + (round + 3) % 4
        return weights.prefix(count).enumerated().map { index, weight in
            let (subnet, port) = (1 + index % 3, 5000 + UInt16(index))
            return Downstream(
                name: "\(index)", endpoint: Endpoint(VethLab.v4(subnet, 2), port: port),
                weight: weight)
        }
    }
}
