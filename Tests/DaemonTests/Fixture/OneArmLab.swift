// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

/// Clients and servers behind one gateway, as sbulb wants it.
struct OneArmLab: Sendable {
    static let ports: [UInt16] = [5683, 5684]
    let gateway: Network
    let client: Network
    let balancer: Network
    let servers: [Network]

    init() throws {
        (gateway, client, balancer) = (try Network(), try Network(), try Network())
        servers = try (0..<2).map { _ in try Network() }
        try gateway.set("ipv4/ip_forward", to: "1")
        try VethLab.connect(gateway, "gb0", balancer, "eth0", subnet: 200)
        try VethLab.connect(gateway, "gc0", client, "c0", subnet: 0)
        try gateway.ip("route add default via \(VethLab.v4(200, 2)) table 100")
        for (index, server) in servers.enumerated() {
            try VethLab.connect(gateway, "gs\(index)", server, "in0", subnet: index + 1)
            try gateway.ip("rule add iif gs\(index) lookup 100")
        }
    }

    var address: IPAddress { VethLab.v4(200, 2) }
    func server(_ number: Int) -> IPAddress { VethLab.v4(number + 1, 2) }

    /// What every server gets on every port.
    func sinks() throws -> [[Sink]] {
        try servers.enumerated().map { index, network in
            try Self.ports.map { port in
                try network.enter { try Sink(on: server(index), port: port) }
            }
        }
    }

    func traffic(_ port: UInt16) throws -> Traffic {
        try client.enter {
            try Traffic(to: Endpoint(address, port: port), from: VethLab.v4(0, 2))
        }
    }
}
