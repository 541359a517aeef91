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

    /// A kind of group, and the promised ratio to a bare program.
    private struct Kind {
        let name: String
        var key = ReusePortGroup.Key.sourceIP
        var flows: Int?
        let promise: Double
    }

    private static let kinds = [
        Kind(name: "source address", promise: 1.3),
        Kind(
            name: "payload", key: .payload(PayloadKey("offset=12,length=4")!), promise: 1.8),
        Kind(name: "source address, known flow", flows: 4096, promise: 2.5),
    ]

    /// - Throws: `Trouble` without the privilege to load programs.
    func run() throws -> Steering {
        do {
            let endpoint = Endpoint(
                IPAddress(v4: 0x7f00_0001), port: UInt16(try Loopback.freePorts(1)[0]))
            let first = try ReusePortSocket(boundTo: endpoint, receiveBuffer: 4 << 20)
            let second = try ReusePortSocket(boundTo: endpoint, receiveBuffer: 4 << 20)
            var bench = steering()
            bench.port = endpoint.port
            bench.members = (first.descriptor, second.descriptor)
            try check(steering_open(&bench), "open the senders")
            defer { steering_close(&bench) }
            var programs: [Steering.Program] = []
            for kind in Self.kinds {
                programs.append(
                    try withGroup(kind, first, second) { try cost(of: kind, &bench) })
            }
            let received = try withGroup(Self.kinds[0], first, second) { try floods(&bench) }
            let (apart, together) = try trains()
            return Steering(
                programs: programs, received: received, apart: apart, together: together)
        } catch let error as ReusePortError {
            throw Trouble("\(error)")
        }
    }

    private func withGroup<Figures>(
        _ kind: Kind, _ first: borrowing ReusePortSocket, _ second: borrowing ReusePortSocket,
        _ body: () throws -> Figures
    ) throws -> Figures {
        var options = GroupOptions(count: 2, key: kind.key)
        options.flows = kind.flows
        let group = try ReusePortGroup(private: options)
        let memberOfFirst = try group.join(first, slot: 0)
        let memberOfSecond = try group.join(second, slot: 1)
        let figures = try body()
        try memberOfFirst.leave()
        try memberOfSecond.leave()
        return figures
    }

    private func cost(of kind: Kind, _ bench: inout steering) throws -> Steering.Program {
        let room = rounds
        let figures = UnsafeMutableBufferPointer<Double>.allocate(
            capacity: room * Int(STEERING_PROGRAMS.rawValue))
        defer { figures.deallocate() }
        let base = figures.baseAddress!
        var result = steering_cost()
        result.nanoseconds = (base, base + room, base + 2 * room)
        try check(steering_cost(&bench, Int32(room), &result), "measure the program")
        let spreads = (0..<3).map { Spread(Array(figures[$0 * room..<($0 + 1) * room])) }
        guard let cost = spreads[0], let bare = spreads[1], let empty = spreads[2] else {
            throw Trouble("no round of the reuseport program was measured")
        }
        return Steering.Program(
            name: kind.name, cost: cost, bare: bare, empty: empty,
            verified: Int(result.verified.0), promise: kind.promise)
    }

    private func floods(_ bench: inout steering) throws -> Spread {
        var ratios: [Double] = []
        for pair in 0..<pairs {
            // The order changes with the pair.
            let first = try flood(&bench, withProgram: pair.isMultiple(of: 2))
            let second = try flood(&bench, withProgram: !pair.isMultiple(of: 2))
            ratios.append(pair.isMultiple(of: 2) ? first / second : second / first)
        }
        guard let received = Spread(ratios) else { throw Trouble("nothing was flooded") }
        return received
    }

    private func trains() throws -> (apart: Spread, together: Spread) {
        let ports = try Loopback.freePorts(2).map { UInt16($0) }
        let address = IPAddress(v4: 0x7f00_0001)
        let apart = try ReusePortSocket(
            boundTo: Endpoint(address, port: ports[0]), receiveBuffer: 8 << 20)
        let merged = try ReusePortSocket(
            boundTo: Endpoint(address, port: ports[1]), receiveBuffer: 8 << 20)
        try merged.prepare(.gro)
        var (one, other) = (
            [Double](repeating: 0, count: rounds), [Double](repeating: 0, count: rounds)
        )
        try check(
            steering_trains(
                apart.descriptor, merged.descriptor, Int32(rounds), &one, &other),
            "receive trains of datagrams")
        guard let apart = Spread(one), let together = Spread(other) else {
            throw Trouble("no round of trains was measured")
        }
        return (apart, together)
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
