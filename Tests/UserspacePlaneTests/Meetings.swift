// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract

/// Which workers of a listener got which clients' datagrams. A worker is identified by the source port of its socket
/// to the receiver, which is unique.
struct Meetings: Sendable, CustomStringConvertible {
    /// By client: the workers that got a datagram from it.
    let workers: [[UInt16]]

    /// Sends from `ports` sockets of every client to the listener and records which worker forwards each datagram.
    ///
    /// - Parameters:
    ///   - sink: the one receiver of the listener, which keeps payloads.
    ///   - destination: the destination, if it is not the listener's bind address.
    init(
        of clients: [IPAddress], ports: Int, at listener: Listener, sink: Sink,
        destination: IPAddress? = nil
    ) async throws {
        let before = sink.datagrams.count
        let address = destination ?? listener.bind.address
        for (number, client) in clients.enumerated() {
            let mark = withUnsafeBytes(of: UInt32(number)) { Array($0) }
            for _ in 0..<ports {
                try Traffic(to: Endpoint(address, port: listener.bind.port), from: client)
                    .send(mark)
            }
        }
        let wanted = clients.count * ports
        try await eventually("\(wanted) datagrams are forwarded") {
            sink.count >= UInt64(before + wanted)
        }
        var met = [Set<UInt16>](repeating: [], count: clients.count)
        for datagram in sink.datagrams[before...] {
            let number = datagram.payload.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            met[Int(number)].insert(datagram.source.port)
        }
        workers = met.map { $0.sorted() }
    }

    /// Whether each client had only one worker.
    var areSingle: Bool { workers.allSatisfy { $0.count == 1 } }

    /// The number of clients of each worker.
    var shares: [UInt16: Int] {
        Dictionary(workers.joined().map { ($0, 1) }, uniquingKeysWith: +)
    }

    var description: String { "\(workers)" }
}

extension Stage {
    /// One receiver, and a listener with `workers` workers and the given steering.
    func steered(
        _ steer: Steer = .sourceIP, workers: Int, at address: IPAddress = .loopback, to sink: Sink,
        _ name: String = "in"
    ) throws -> Listener {
        var listener = try listener(
            name, to: [sink].downstreams(), settings: .roomy(workers: workers))
        listener.settings.steer = steer
        listener.bind = try .free(on: address)
        return listener
    }
}

/// Loopback addresses that no other test uses, enough to distinguish chance from design.
let manyClients = (0..<64 as Range<UInt32>).map { IPAddress.loopback(0x1_0000 + $0) }

/// Addresses of 2001:db8::/64, all of which a namespace can have.
let manyClients6 = (1...64 as ClosedRange<UInt64>).map {
    IPAddress(high: 0x2001_0db8_0000_0000, low: $0)
}

/// Makes every address of 2001:db8::/64 local to this namespace.
let wholePrefix = ["link set lo up", "-6 route add local 2001:db8::/64 dev lo"]
