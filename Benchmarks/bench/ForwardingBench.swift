// SPDX-License-Identifier: Apache-2.0

internal import CForwarding
internal import Glibc
internal import KernelPrograms
internal import Measure

/// The program of `tc_ebpf` by itself: parse, listener, key, slot, rewrite, redirect.
struct ForwardingBench {
    let rounds: Int
    /// Runs of a round.
    let repetitions: Int32

    init(_ options: Options) {
        let isFull = options.seconds >= 1
        rounds = isFull ? 7 : 2
        repetitions = isFull ? 1_000_000 : 1000
    }

    /// - Throws: `Trouble` without the privilege to load programs.
    func run() throws -> Forwarding {
        guard let object = EmbeddedObject.tcFanout.bytes else {
            throw Trouble("the embedded program of tc_ebpf is damaged")
        }
        var costs: [Forwarding.Cost] = []
        for path in Forwarding.Path.allCases {
            for family in Forwarding.Family.allCases {
                costs.append(try cost(path, family, object))
            }
        }
        return Forwarding(costs: costs)
    }

    private func cost(
        _ path: Forwarding.Path, _ family: Forwarding.Family, _ object: [UInt8]
    ) throws -> Forwarding.Cost {
        var program = [Double](repeating: 0, count: rounds)
        var (bare, empty) = (program, program)
        var way = forwarding_case(
            is_v6: family == .v6 ? 1 : 0, looks_up: path == .lookup ? 1 : 0)
        let result = forwarding_cost(
            object, object.count, &way, Int32(rounds), repetitions, &program, &bare, &empty)
        guard result == 0, let program = Spread(program), let bare = Spread(bare),
            let empty = Spread(empty)
        else {
            throw Trouble(
                "measure the program of tc_ebpf, \(path.rawValue), \(family.rawValue): "
                    + String(cString: strerror(-result)))
        }
        return Forwarding.Cost(
            path: path, family: family, program: program, bare: bare, empty: empty)
    }
}
