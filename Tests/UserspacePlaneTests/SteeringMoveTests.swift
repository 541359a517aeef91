// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension UserspacePlaneTests {
    @Suite("when steered workers are replaced under load", .tags(.load))
    struct SteeringMoveTests {
        /// The number of times that each source changed its worker, in the order of its datagrams.
        private static func moves(_ datagrams: [Received]) -> [Int] {
            var sent: [UInt32: [(sequence: UInt64, worker: UInt16)]] = [:]
            for datagram in datagrams {
                // The layout of `Stamp`: the flow, which is a source here, and the sequence number.
                datagram.payload.withUnsafeBytes { bytes in
                    let flow = bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
                    let sequence = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                    sent[flow, default: []].append((sequence, datagram.source.port))
                }
            }
            return sent.values.map { list in
                let workers = list.sorted { $0.sequence < $1.sequence }.map(\.worker)
                return zip(workers, workers.dropFirst()).count { $0 != $1 }
            }
        }

        struct Case: CustomTestStringConvertible {
            let from: Int
            let to: Int
            /// How often a source may move, and must in order to reach a new worker.
            let moves: ClosedRange<Int>

            var testDescription: String { "from \(from) workers to \(to)" }
        }

        @Test(
            "moves a source once if their number stays, at most twice if it grows",
            arguments: [
                Case(from: 4, to: 4, moves: 1...1), Case(from: 2, to: 4, moves: 1...2),
                Case(from: 3, to: 5, moves: 1...2),
            ])
        func replaced(_ change: Case) async throws {
            for _ in 0..<5 {
                let sink = try Sink()
                var listener = try Stage.userspace.steered(workers: change.from, to: sink)
                let rig = try await Stage.userspace.rig([listener])
                let sources = try manyClients.flatMap { client in
                    try (0..<2).map { _ in try Traffic(to: listener.bind, from: client) }
                }
                let load = try Load(sources, sharing: 2, rate: 50_000)
                try await eventually("every source has sent") { load.sent > 4096 }
                listener.settings.workers = change.to
                listener.settings.batchSize = 31
                try await rig.apply([listener])
                let after = load.sent
                try await eventually("every source has sent again") { load.sent > after + 4096 }
                let report = await load.stop()
                try await eventually("all arrive") { sink.count == report.datagrams }
                let moves = Self.moves(sink.datagrams)
                #expect(moves.count == 64)
                #expect(moves.allSatisfy(change.moves.contains), "\(moves)")
                await rig.stop()
            }
        }
    }
}
