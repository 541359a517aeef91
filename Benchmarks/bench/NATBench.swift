// SPDX-License-Identifier: Apache-2.0

internal import CNAT
internal import Glibc
internal import KernelPrograms
internal import Measure

/// The program of `xdp_nat` by itself: parse, endpoint, association, rewrite, send, count.
struct NATBench {
    let rounds: Int
    /// Runs of a round.
    let repetitions: Int32

    init(_ options: Options) {
        let isFull = options.seconds >= 1
        rounds = isFull ? 7 : 2
        repetitions = isFull ? 1_000_000 : 1000
    }

    /// - Throws: `Trouble` without the privilege to load programs.
    func run() throws -> Translation {
        guard let object = EmbeddedObject.xdpNAT.bytes else {
            throw Trouble("the embedded program of xdp_nat is damaged")
        }
        var costs: [Translation.Cost] = []
        for way in Translation.Way.allCases {
            for packet in Translation.Packet.allCases {
                for family in Forwarding.Family.allCases {
                    costs.append(try cost(packet, way, family, object))
                }
            }
        }
        return Translation(costs: costs)
    }

    private func cost(
        _ packet: Translation.Packet, _ way: Translation.Way, _ family: Forwarding.Family,
        _ object: [UInt8]
    ) throws -> Translation.Cost {
        var program = [Double](repeating: 0, count: rounds)
        var empty = program
        var measured = nat_case(
            is_v6: family == .v6 ? 1 : 0, is_egress: packet == .answer ? 1 : 0,
            is_new: packet == .newcomer ? 1 : 0, is_routed: way == .routed ? 1 : 0,
            clients: packet == .newcomer ? 0 : 1)
        let result = nat_cost(
            object, object.count, &measured, Int32(rounds), repetitions, &program, &empty)
        guard result == 0, let program = Spread(program), let empty = Spread(empty) else {
            throw Trouble(
                "measure the program of xdp_nat, \(packet.rawValue), \(way.rawValue), "
                    + "\(family.rawValue): " + String(cString: strerror(-result)))
        }
        return Translation.Cost(
            packet: packet, way: way, family: family, program: program, empty: empty)
    }
}
