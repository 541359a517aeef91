// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Logging
import PlaneContract
import XDPNATPlane

/// A balancer with clients and servers around it, each in its own network.
final class NATNet: Sendable {
    enum Way: String, CaseIterable, Sendable, CustomStringConvertible {
        /// Clients behind one interface, each server behind another.
        case routed
        /// All behind one gateway, which routes the servers' packets through the balancer.
        case oneArm

        var description: String { rawValue }
    }

    let way: Way
    let client: Network
    let balancer: Network
    let servers: [Network]
    /// For one arm only.
    let gateway: Network?
    let pins: BPFFileSystem

    init(_ way: Way, servers count: Int = 3) throws {
        self.way = way
        pins = try BPFFileSystem()
        switch way {
        case .routed:
            let lab = try VethLab(receivers: count)
            (client, balancer, servers, gateway) = (lab.client, lab.balancer, lab.receivers, nil)
            try balancer.ip("route add 10.8.9.0/24 via \(VethLab.v4(0, 2))")
            try balancer.ip("-6 route add fd08:9::/64 via \(VethLab.v6(0, 2))")
            // Packets that the stack forwards have the virtual address as their source, which is the balancer's own.
            try balancer.set("ipv4/conf/all/accept_local", to: "1")
        case .oneArm:
            let (gateway, client, balancer) = (try Network(), try Network(), try Network())
            (self.gateway, self.client, self.balancer) = (gateway, client, balancer)
            servers = try (0..<count).map { _ in try Network() }
            try gateway.set("ipv4/ip_forward", to: "1")
            try gateway.set("ipv6/conf/all/forwarding", to: "1")
            try VethLab.connect(gateway, "gb0", balancer, "lb0", subnet: 200)
            try VethLab.connect(gateway, "gc0", client, "c0", subnet: 0)
            try client.ip("route add local 10.8.9.0/24 dev lo")
            try gateway.ip("route add 10.8.9.0/24 via \(VethLab.v4(0, 2))")
            for family in ["", "-6 "] {
                let next = VethLab.address(family.isEmpty ? .v4 : .v6, 200, 2)
                try gateway.ip("\(family)route add default via \(next) table 100")
            }
            for (index, server) in servers.enumerated() {
                try VethLab.connect(gateway, "gs\(index)", server, "in0", subnet: index + 1)
                try gateway.ip("rule add iif gs\(index) lookup 100")
                try gateway.ip("-6 rule add iif gs\(index) lookup 100")
            }
        }
    }

    /// The virtual address.
    func service(_ family: IPAddress.Family = .v4, port: UInt16 = 5683) -> Endpoint {
        Endpoint(
            way == .routed ? VethLab.address(family, 0, 1) : VethLab.address(family, 200, 2),
            port: port)
    }

    func talker(
        _ family: IPAddress.Family = .v4, port: UInt16 = 0
    ) throws -> Talker {
        try client.enter { try Talker(on: VethLab.address(family, 0, 2), port: port) }
    }

    func server(
        _ number: Int, _ family: IPAddress.Family = .v4, port: UInt16 = 5683
    ) throws -> EchoServer {
        try servers[number].enter {
            try EchoServer(
                ["a", "b", "c", "d"][number], on: VethLab.address(family, number + 1, 2),
                port: port)
        }
    }

    func listener(
        _ servers: [EchoServer], _ family: IPAddress.Family = .v4, port: UInt16 = 5683,
        balance: Balance = .roundRobin, nat: NATSettings = NATSettings()
    ) -> Listener {
        var nat = nat
        nat.isOneArm = way == .oneArm
        return Listener(
            name: "in", bind: service(family, port: port), mode: .xdpNAT, balance: balance,
            preserveSource: true,
            downstreams: servers.map { Downstream(name: $0.name, endpoint: $0.endpoint) },
            interface: "lb0", nat: nat)
    }

    func plane(
        _ logger: Logger = .silent, lateReplies: Duration = .seconds(30)
    ) -> XDPNATPlane {
        XDPNATPlane(logger: logger, root: pins.path, lateReplies: lateReplies)
    }

    /// A plane that serves `listeners`; must be called in the balancer.
    func rig(
        _ listeners: [Listener], logger: Logger = .silent, lateReplies: Duration = .seconds(30)
    ) async throws -> Rig {
        let rig = Rig(plane(logger, lateReplies: lateReplies))
        try await rig.apply(listeners)
        return rig
    }
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
