// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import CLibBPF
import FanoutCore
import Glibc
import Testing

extension NATFixture {
    /// The result for a packet.
    struct Outcome: Equatable, CustomStringConvertible {
        let verdict: XDPVerdict?
        let output: [UInt8]

        var description: String {
            let digits = output.map { byte in
                let text = String(byte, radix: 16)
                return text.count == 1 ? "0" + text : text
            }
            return "\(verdict.map { "\($0)" } ?? "an unknown verdict") \(digits.joined())"
        }
    }

    @discardableResult
    func run(_ frame: [UInt8]) throws -> Outcome {
        let run = try program.testRun(data: frame)
        return Outcome(verdict: XDPVerdict(rawValue: run.verdict), output: run.output)
    }

    @discardableResult
    func run(_ datagram: Datagram) throws -> Outcome { try run(datagram.frame) }

    // MARK: Associations

    /// An association, as the maps have it.
    struct Association: Equatable {
        let server: Endpoint
        let isAnswered: Bool
        /// Whether the server's generation is unchanged.
        let isAlive: Bool
    }

    /// The association of a client; nil when there is none. Reading does not refresh it.
    func association(
        of client: Endpoint, listener: UInt8 = 0, protocolNumber: UInt8 = 17
    ) throws -> Association? {
        let isV6 = client.address.family == .v6
        var key = lb_nat_client_of(
            client.address.datapath, client.port, protocolNumber, listener, isV6 ? 1 : 0)
        for (map, isAnswered) in [("associations", true), ("unanswered", false)] {
            var value = lb_nat_association()
            let result = bpf_map_lookup_elem(descriptor(map + (isV6 ? "6" : "4")), &key, &value)
            if result == 0 {
                let server = servers[Int(lb_nat_server_of(value.word))]
                return Association(
                    server: server.endpoint, isAnswered: isAnswered,
                    isAlive: server.generation == lb_nat_generation_of(value.word))
            }
        }
        return nil
    }

    /// The number of associations in a map.
    func count(in map: String) -> Int {
        var count = 0
        var key = lb_nat_client()
        var next = lb_nat_client()
        var result = bpf_map_get_next_key(descriptor(map), nil, &next)
        while result == 0 {
            count += 1
            key = next
            result = bpf_map_get_next_key(descriptor(map), &key, &next)
        }
        return count
    }

    // MARK: Counters

    enum Direction: UInt32, CaseIterable { case ingress, egress }

    func counts(_ listener: UInt32 = 0, _ direction: Direction) throws -> NATCounts {
        try NATCounts(words: sums("nat_rows", 2 * listener + direction.rawValue, NATCounts.width))
    }

    /// Counters of packets that belong to no known listener.
    func noListener() throws -> NATCounts {
        try NATCounts(words: sums("nat_rows", UInt32(LB_NAT_NO_LISTENER), NATCounts.width))
    }

    func serverCounts(_ number: Int, _ direction: Direction) throws -> Counts {
        try Counts(
            words: sums(
                "server_rows", 2 * UInt32(number) + direction.rawValue, Int(LB_COUNTERS.rawValue)))
    }

    /// A row, summed over all CPUs.
    private func sums(_ map: String, _ row: UInt32, _ width: Int) throws -> [UInt64] {
        let cpus = Int(libbpf_num_possible_cpus())
        var words = [UInt64](repeating: 0, count: width * cpus)
        var row = row
        try #require(bpf_map_lookup_elem(descriptor(map), &row, &words) == 0)
        return (0..<width).map { word in
            (0..<cpus).reduce(0) { $0 + words[$1 * width + word] }
        }
    }
}

/// A row of counters and events.
struct NATCounts: CustomStringConvertible {
    static let width = Int(LB_COUNTERS.rawValue) + Int(LB_NAT_EVENTS.rawValue)

    let words: [UInt64]

    var common: Counts { Counts(words: Array(words[..<Int(LB_COUNTERS.rawValue)])) }

    subscript(event: lb_nat_event) -> UInt64 {
        words[Int(LB_COUNTERS.rawValue) + Int(event.rawValue)]
    }

    /// The sum of all events.
    var events: UInt64 { words[Int(LB_COUNTERS.rawValue)...].reduce(0, +) }

    static func - (left: NATCounts, right: NATCounts) -> NATCounts {
        NATCounts(words: zip(left.words, right.words).map { $0 - $1 })
    }

    static func + (left: NATCounts, right: NATCounts) -> NATCounts {
        NATCounts(words: zip(left.words, right.words).map { $0 + $1 })
    }

    var description: String {
        let numbers = words[Int(LB_COUNTERS.rawValue)...].enumerated().filter { $0.element > 0 }
        return "\(common), events \(numbers.map { "\($0.offset): \($0.element)" })"
    }
}
