// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import LinuxNet
import XDPNATPlane

extension NATNet {
    /// Clients on addresses of their own, 250 on each, with ports that are theirs again the next time.
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

/// Has every client ask once, and returns what each heard, in their order.
func ask(_ clients: some Collection<Talker>, _ service: Endpoint) async throws -> [String] {
    var heard: [Endpoint: String] = [:]
    let all = Array(clients)
    // A few at a time, so that no queue gets too long.
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

/// What programs in the balancer remember; to be called there.
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
