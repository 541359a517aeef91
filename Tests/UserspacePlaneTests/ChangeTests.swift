// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension UserspacePlaneTests {
    @Suite("changed under load", .tags(.load))
    struct ChangeTests {
        /// One change of the listeners, the first of which is under load.
        struct Step: CustomTestStringConvertible {
            let testDescription: String
            let alter: @Sendable (inout [Listener]) throws -> Void

            init(_ says: String, alter: @escaping @Sendable (inout [Listener]) throws -> Void) {
                testDescription = says
                self.alter = alter
            }
        }

        static let steps = [
            Step("other numbers of workers") {
                $0[0].settings.workers = $0[0].settings.workers % 4 + 1
            },
            Step("another batch size") {
                $0[0].settings.batchSize = $0[0].settings.batchSize % 64 + 1
            },
            Step("another balance") {
                let all = Balance.allCases
                let next = (all.firstIndex(of: $0[0].balance) ?? 0) + 1
                $0[0].balance = all[next % all.count]
            },
            Step("other bytes of the payload") {
                $0[0].balance = .payload
                let length = $0[0].payloadKey?.length ?? 0
                $0[0].payloadKey = PayloadKey(length: length % 20 + 1)
            },
            Step("other steering") {
                $0[0].settings.steer = $0[0].settings.steer == .kernel ? .sourceIP : .kernel
            },
            Step("from 2 workers to 4 and back") {
                $0[0].settings.workers = 6 - $0[0].settings.workers
            },
            Step("another name") { $0[0].name = $0[0].name == "in" ? "other" : "in" },
            Step("two listeners that swap their addresses") {
                let bind = $0[0].bind
                $0[0].bind = $0[1].bind
                $0[1].bind = bind
                $0.swapAt(0, 1)
            },
            Step("an unrelated listener that is added and removed") {
                if $0.count == 2 {
                    $0.append(try Stage.userspace.listener("third", to: $0[0].downstreams))
                } else {
                    $0.removeLast()
                }
            },
        ]

        @Test(
            "loses nothing and repeats nothing", .timeLimit(.minutes(1)), arguments: steps)
        func nothingLost(step: Step) async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(3, keepsPayloads: false)
            var listeners = try ["in", "second"].map {
                try stage.listener($0, to: sinks.downstreams(), settings: .roomy(workers: 2))
            }
            let rig = try await stage.rig(listeners)
            let sources = try (0..<8).map { try stage.traffic(to: listeners[0], client: $0) }
            let load = try Load(sources, rate: 20_000, sizes: [64, 64, 400])
            for _ in 0..<12 {
                let enough = load.sent + 500
                try await eventually("the load goes on") { load.sent >= enough }
                try step.alter(&listeners)
                try await rig.apply(listeners)
            }
            let report = await load.stop()
            #expect(report.refusals == 0)
            #expect(report.errors == [:])
            try await eventually("all arrive") {
                sinks.map(\.arrivals).reduce(0, +) >= report.datagrams
            }
            let delivery = Delivery(of: report, at: sinks)
            // A flow that moves to another socket may overtake datagrams that wait in its previous socket.
            #expect(delivery.lost == delivery.droppedAtSinks, "\(delivery)")
            #expect(delivery.duplicates == 0 && delivery.damaged == 0, "\(delivery)")
            for counters in await rig.stop() {
                #expect(counters.isBalanced && counters.packetsDropped == 0, "\(counters)")
            }
        }

        @Test("survives 3 000 new tables", .timeLimit(.minutes(1)))
        func manyTables() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(4, keepsPayloads: false)
            var listener = try stage.listener(to: sinks.downstreams(), settings: .roomy(workers: 2))
            let rig = try await stage.rig([listener])
            let sources = try (0..<8).map { try stage.traffic(to: listener, client: $0) }
            let load = try Load(sources, rate: 20_000)
            for round in 0..<3000 {
                let weights = [1, UInt16(round % 2), UInt16(round % 7), 3]
                listener.downstreams = sinks.downstreams(weights: weights)
                if round % 10 == 9 { listener.downstreams.removeLast() }
                try await rig.apply([listener])
            }
            let report = await load.stop()
            try await expectExact(report, through: rig, at: sinks)
            await rig.stop()
        }
    }
}
