// SPDX-License-Identifier: Apache-2.0

internal import CSteering
internal import Glibc
internal import Measure
internal import ReusePortLB

/// Two members of a private group in this process, and senders with 256 addresses.
struct SteeringBench {
    /// Rounds of a thousand packets, alternately with the program and with an empty one.
    let rounds: Int
    /// Pairs of floods, with the program and without.
    let pairs: Int
    /// How long a flood lasts.
    let milliseconds: Int32

    init(_ options: Options) {
        let isFull = options.seconds >= 1
        rounds = isFull ? 600 : 20
        pairs = isFull ? 9 : 1
        milliseconds = isFull ? 1000 : 50
    }

    /// - Throws: `Trouble` without the privilege to load programs.
    func run() throws -> Steering {
        do {
            let group = try ReusePortGroup(private: GroupOptions(count: 2))
            let port = UInt16(try Loopback.freePorts(1)[0])
            let endpoint = Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
            let first = try ReusePortSocket(boundTo: endpoint, receiveBuffer: 4 << 20)
            let second = try ReusePortSocket(boundTo: endpoint, receiveBuffer: 4 << 20)
            let memberOfFirst = try group.join(first, slot: 0)
            let memberOfSecond = try group.join(second, slot: 1)
            var bench = steering()
            bench.port = port
            bench.members = (first.descriptor, second.descriptor)
            try check(steering_open(&bench), "open the senders")
            defer { steering_close(&bench) }
            let result = try measure(&bench)
            try memberOfFirst.leave()
            try memberOfSecond.leave()
            return result
        } catch let error as ReusePortError {
            throw Trouble("\(error)")
        }
    }

    private func measure(_ bench: inout steering) throws -> Steering {
        var program = [Double](repeating: 0, count: rounds)
        var empty = program
        try check(steering_cost(&bench, Int32(rounds), &program, &empty), "measure the program")
        var ratios: [Double] = []
        for pair in 0..<pairs {
            // The order changes with the pair.
            let first = try flood(&bench, withProgram: pair.isMultiple(of: 2))
            let second = try flood(&bench, withProgram: !pair.isMultiple(of: 2))
            ratios.append(pair.isMultiple(of: 2) ? first / second : second / first)
        }
        guard let program = Spread(program), let empty = Spread(empty),
            let received = Spread(ratios)
        else { throw Trouble("no round of the reuseport program was measured") }
        return Steering(program: program, empty: empty, received: received)
    }

    private func flood(_ bench: inout steering, withProgram: Bool) throws -> Double {
        var received: UInt64 = 0
        try check(
            steering_flood(&bench, milliseconds, withProgram ? 1 : 0, &received),
            "flood two collectors")
        guard received > 0 else { throw Trouble("two collectors received nothing") }
        return Double(received)
    }

    private func check(_ result: Int32, _ operation: String) throws {
        guard result < 0 else { return }
        throw Trouble("\(operation): \(String(cString: strerror(-result)))")
    }
}
