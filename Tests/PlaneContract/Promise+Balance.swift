// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import GoldenVectors
import Foundation
import LabNet

extension Promise {
    static let balance: [Promise] =
        [
            Promise("round robin gives equal weights equal counts") { stage in
                let counts = try await send(300, over: .roundRobin, stage, weights: [1, 1, 1])
                try claimShares(counts, [100, 100, 100], stage)
            },
            Promise("round robin gives each weight its share, and weight 0 nothing") { stage in
                let counts = try await send(600, over: .roundRobin, stage, weights: [1, 2, 0, 3])
                try claimShares(counts, [100, 200, 0, 300], stage)
            },
            Promise("random gives each weight its share within six standard deviations") { stage in
                let counts = try await send(4000, over: .random, stage, weights: [1, 3, 0])
                // Binomial, n = 4000, p = 1/4: 1000 ± 6 × 27.4.
                try claim(
                    (836...1164).contains(counts[0]), "weight 1 of 4 got \(counts[0]) of 4000")
                try claim(counts[2], is: 0, "datagrams of the receiver of weight 0")
            },
            Promise("source_ip takes each source to the owner of its key") { stage in
                try await checkOwners(.sourceIP, stage, .v4)
            },
            Promise("four_tuple takes each flow to the owner of its key") { stage in
                try await checkOwners(.fourTuple, stage, .v4)
            },
            Promise("source_ip takes an IPv6 source to the owner of its key") { stage in
                try await checkOwners(.sourceIP, stage, .v6)
            },
            Promise("four_tuple takes an IPv6 flow to the owner of its key") { stage in
                try await checkOwners(.fourTuple, stage, .v6)
            },
        ]
        + [
            "offset=2,length=8,skip=5", "ipfix_domain", "netflow_source", "radius_id",
            "sip_call_id", "quic_server_id,offset=1,length=4", "dtls_server_id,offset=0,length=2",
        ].map { spec in
            Promise("payload by \(spec) takes the golden payloads to the owners of their keys") {
                try await checkPayloads(spec, $0)
            }
        }
        + [
            Promise("payload by other bytes takes effect with a reload") {
                try await checkOtherKey($0)
            }
        ]

    /// Sends the same payloads before and after their key has changed.
    private static func checkOtherKey(_ stage: Stage) async throws {
        let sinks = try stage.sinks(5)
        var listener = try stage.listener("in", .payload, to: sinks.downstreams())
        let rig = try await stage.rig([])
        for (round, offset) in [0, 1, 0].enumerated() as EnumeratedSequence<[UInt16]> {
            let key = PayloadKey(offset: offset, length: 2)
            listener.payloadKey = key
            try await rig.apply([listener])
            for number in 0..<8 as Range<UInt8> {
                let payload = [number, UInt8(round), 255 - number]
                let traffic = try stage.traffic(to: listener, client: round * 8 + Int(number))
                try await checkOwner(of: payload, key, from: traffic, listener, sinks)
            }
        }
        await rig.stop()
    }

    /// Sends a payload and waits until the owner of its key has it.
    private static func checkOwner(
        of payload: [UInt8], _ key: PayloadKey, from traffic: Traffic, _ listener: Listener,
        _ sinks: [Sink]
    ) async throws {
        try claim(traffic.send(payload), "a send failed")
        let hash = FlowKey.payload(
            payload, key, source: traffic.source, destination: listener.bind)
        guard let owner = listener.slotTable.owner(of: hash) else { throw Broken(what: "no owner") }
        try await eventually("\(payload) reaches receiver \(owner) by \(key)") {
            sinks[owner].datagrams.count { $0.payload == payload } == 1
        }
    }

    /// Sends each golden payload of a key, and other payloads, from a client of its own.
    private static func checkPayloads(_ spec: String, _ stage: Stage) async throws {
        let sinks = try stage.sinks(5)
        var listener = try stage.listener(
            "in", .payload, to: sinks.downstreams(weights: [1, 1, 2, 0, 4]))
        guard let key = PayloadKey(spec) else { throw Broken(what: "\(spec) is no key") }
        listener.payloadKey = key
        let rig = try await stage.rig([listener])
        var payloads = Set<[UInt8]>()
        for vector in PayloadVector.all where vector.spec == spec || payloads.count < 8 {
            guard let payload = [UInt8](hexadecimal: vector.payload) else { continue }
            guard payloads.insert(payload).inserted else { continue }
            let traffic = try stage.traffic(to: listener, client: payloads.count)
            try await checkOwner(of: payload, key, from: traffic, listener, sinks)
        }
        try claim(sinks.total, is: UInt64(payloads.count), "datagrams of all receivers")
        await rig.stop()
    }

    /// Checks the exact shares. In the kernel, where each CPU has its own round robin and the sender may move between
    /// them, a share may differ by two rounds a CPU.
    private static func claimShares(
        _ counts: [UInt64], _ share: [UInt64], _ stage: Stage
    ) throws {
        let slack =
            stage.mode == .tcEBPF ? UInt64(2 * ProcessInfo.processInfo.activeProcessorCount) : 0
        let isFair = zip(counts, share).allSatisfy { count, share in
            share == 0 ? count == 0 : count + slack >= share && count <= share + slack
        }
        try claim(
            isFair, "datagrams of each receiver: \(counts), not \(share) give or take \(slack)")
    }

    /// Sends `count` datagrams from one client and returns what each receiver got.
    private static func send(
        _ count: Int, over balance: Balance, _ stage: Stage, weights: [UInt16]
    ) async throws -> [UInt64] {
        let sinks = try stage.sinks(weights.count)
        let listener = try stage.listener("in", balance, to: sinks.downstreams(weights: weights))
        let rig = try await stage.rig([listener])
        let traffic = try stage.traffic(to: listener)
        for number in 0..<count {
            try claim(traffic.send([UInt8(truncatingIfNeeded: number)]), "a send failed")
            // The listener has the system's default buffer, so the sender waits for it.
            if number % 100 == 99 { try await rig.settled(at: UInt64(number + 1)) }
        }
        try await eventually("\(count) datagrams arrive") { sinks.total == UInt64(count) }
        let counters = try await rig.settled(at: UInt64(count))
        try claim(
            counters.downstreams.map(\.packetsForwarded), is: sinks.counts,
            "the counters of the receivers")
        await rig.stop()
        return sinks.counts
    }

    /// Sends from many clients and compares each one's receiver with the slot table.
    private static func checkOwners(
        _ balance: Balance, _ stage: Stage, _ family: IPAddress.Family
    ) async throws {
        let sinks = try stage.sinks(5, family)
        let listener = try stage.listener(
            "in", balance, to: sinks.downstreams(weights: [1, 1, 2, 0, 4]), family: family)
        let rig = try await stage.rig([listener])
        let table = listener.slotTable
        var wanted = [Int](repeating: 0, count: sinks.count)
        for number in 0..<200 {
            let traffic = try stage.traffic(to: listener, client: number)
            let payload = Array("client \(number)".utf8)
            try claim(traffic.send(payload) && traffic.send(payload), "a send failed")
            let key =
                balance == .sourceIP
                ? FlowKey.sourceIP(traffic.source.address)
                : FlowKey.fourTuple(source: traffic.source, destination: listener.bind)
            guard let owner = table.owner(of: key) else { throw Broken(what: "no owner") }
            wanted[owner] += 1
            try await eventually("client \(number) (\(traffic.source)) reaches receiver \(owner)") {
                sinks[owner].datagrams.count { $0.payload == payload } == 2
            }
        }
        try claim(sinks.counts, is: wanted.map { UInt64(2 * $0) }, "datagrams of each receiver")
        await rig.stop()
    }
}
