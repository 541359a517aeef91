// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutCore

/// What the command line of `nat` says, the servers apart.
struct NATService: Sendable {
    let interface: String
    let address: IPAddress
    /// At least one.
    let ports: [UInt16]
    let balance: Balance
    let isRouted: Bool
    let maxServers: Int
    let maxAssociations: Int

    static let name = "nat"

    /// - Throws: `ValidationError`.
    init(
        interface: String, address: String, ports: [String], balance: Balance, isRouted: Bool,
        maxPorts: Int, maxServers: Int, maxAssociations: Int
    ) throws {
        guard interface != "lo" else {
            throw ValidationError(
                "lo: no client's packets come in by the loopback; write the interface that leads to "
                    + "the clients, such as eth0")
        }
        guard let parsed = IPAddress(address), parsed.zone == nil, !parsed.isWildcard,
            !parsed.isMulticastOrBroadcast, !parsed.isLoopback
        else {
            throw ValidationError(
                "-vs: '\(LineLogHandler.escaped(address))' is not the address of a virtual server; write "
                    + "the one that clients send to, such as 10.40.0.1")
        }
        guard (1...64).contains(maxPorts) else { throw ValidationError("-mp takes 1 to 64") }
        guard (1...1024).contains(maxServers) else {
            throw ValidationError("-mrs takes 1 to 1024")
        }
        guard (1...NATSettings.associationsLimit).contains(maxAssociations) else {
            throw ValidationError("-ma takes 1 to \(NATSettings.associationsLimit)")
        }
        guard !ports.isEmpty else { throw ValidationError("write at least one port behind -p") }
        guard ports.count <= maxPorts else {
            throw ValidationError("\(ports.count) ports are more than -mp allows (\(maxPorts))")
        }
        var numbers: [UInt16] = []
        for text in ports {
            guard let port = UInt16(text), port > 0 else {
                throw ValidationError("-p: '\(text)' is not a port; write a number from 1 to 65535")
            }
            guard !numbers.contains(port) else {
                throw ValidationError("-p: \(port) stands twice")
            }
            numbers.append(port)
        }
        self.interface = interface
        self.address = parsed
        self.ports = numbers
        self.balance = balance
        self.isRouted = isRouted
        self.maxServers = maxServers
        self.maxAssociations = maxAssociations
    }

    /// A balance by its own name or featherlb's.
    @Sendable static func balance(_ text: String) throws -> Balance {
        if let balance = Balance(rawValue: text) { return balance }
        switch text {
        case "roundrobin": return .roundRobin
        case "iphash": return .sourceIP
        default:
            throw ValidationError(
                "write round_robin (roundrobin), random, source_ip (iphash) or four_tuple")
        }
    }

    /// Whether these servers can serve it.
    func check(_ servers: RealServers) throws(RealServers.Fault) {
        guard servers.addresses.count <= maxServers else {
            throw .init(
                reason: "\(servers.addresses.count) real servers are more than -mrs allows "
                    + "(\(maxServers))")
        }
        for server in servers.addresses where server.family != address.family {
            throw .init(
                reason: "\(server) is \(server.family.rawValue), and \(address) "
                    + "\(address.family.rawValue)")
        }
        if servers.addresses.contains(address) {
            throw .init(reason: "\(address) is the virtual server itself")
        }
    }

    /// As a configuration that the daemon takes.
    func with(_ servers: RealServers) -> Configuration {
        var settings = ListenerSettings()
        settings.maxDownstream = maxServers
        settings.maxPacketSize = 65535
        let nat = NATSettings(
            furtherPorts: Array(ports.dropFirst()), isOneArm: !isRouted,
            maxAssociations: maxAssociations)
        let downstreams = servers.addresses.map {
            DownstreamConfiguration(name: "\($0)", address: Endpoint($0, port: ports[0]))
        }
        return Configuration(
            listeners: [
                ListenerConfiguration(
                    name: Self.name, bind: Endpoint(address, port: ports[0]), mode: .xdpNAT,
                    balance: balance, interface: interface, downstreams: downstreams,
                    settings: settings, nat: nat)
            ], settings: settings)
    }
}
