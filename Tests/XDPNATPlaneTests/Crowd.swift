// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import LinuxNet
import XDPNATPlane

extension NATNet {
    /// Clients with their own addresses, 250 ports on each, which they use again the next time.
    func manyClients(_ count: Int, from first: Int = 0) throws -> [Talker] {
        ThisProcess.raiseOpenFiles()
        return try client.enter {
            try (first..<first + count).map { number in
                try Talker(
                    on: VethLab.v4(9, 1 + number / 250), port: UInt16(20_000 + number % 250))
            }
        }
    }
}

/// Sends a request of every client, and returns the replies, in the clients' order.
func ask(_ clients: some Collection<Talker>, _ service: Endpoint) async throws -> [String] {
    var heard: [Endpoint: String] = [:]
    let all = Array(clients)
    // A few at a time, to keep queues short.
    for start in stride(from: 0, to: all.count, by: 200) {
        let some = all[start..<min(start + 200, all.count)]
        for client in some { try client.send("x", to: service) }
        for client in some {
            try await eventually("\(client.endpoint) hears something") {
                guard let answer = try client.heard() else { return false }
                guard answer.from == service else { return false }
                heard[client.endpoint] = answer.text
                return true
            }
        }
    }
    return all.compactMap { heard[$0.endpoint] }
}

/// The associations of programs in the balancer; must be called there.
struct Inspected {
    let inspection: NATInspection

    /// The clients that have an association.
    var clients: Set<Endpoint> {
        get throws { Set(try associations.map(\.client)) }
    }

    var associations: [Association] {
        get throws {
            var all: [Association] = []
            try inspection.each(.init()) { all.append($0) }
            return all
        }
    }
}

func inspected(_ net: NATNet) throws -> [Inspected] {
    try NATInspection.all(root: net.pins.path).map(Inspected.init)
}
