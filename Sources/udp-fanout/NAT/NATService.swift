// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutCore
internal import FanoutDiscovery
internal import Glibc
internal import LinuxNet

/// The command line of `nat` without the servers.
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
                "lo: no client's packets arrive on the loopback; give the interface that leads to "
                    + "the clients, such as eth0")
        }
        guard let parsed = IPAddress(address), Self.isHost(parsed) else {
            throw ValidationError(
                "-vs: '\(LineLogHandler.escaped(address))' is not the address of a virtual server; give "
                    + "the one that clients send to, such as 10.40.0.1")
        }
        guard (1...64).contains(maxPorts) else { throw ValidationError("-mp takes 1 to 64") }
        guard (1...1024).contains(maxServers) else {
            throw ValidationError("-mrs takes 1 to 1024")
        }
        guard (1...NATSettings.associationsLimit).contains(maxAssociations) else {
            throw ValidationError("-ma takes 1 to \(NATSettings.associationsLimit)")
        }
        guard !ports.isEmpty else { throw ValidationError("give at least one port with -p") }
        guard ports.count <= maxPorts else {
            throw ValidationError("\(ports.count) ports are more than -mp allows (\(maxPorts))")
        }
        var numbers: [UInt16] = []
        for text in ports {
            guard let port = UInt16(text), port > 0 else {
                throw ValidationError(
                    "-p: '\(text)' is not a port; must be a number from 1 to 65535")
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
        if let balance = Balance(rawValue: text), balance != .payload { return balance }
        switch text {
        case "roundrobin": return .roundRobin
        case "iphash": return .sourceIP
        default:
            throw ValidationError(
                "must be round_robin (roundrobin), random, source_ip (iphash) or four_tuple")
        }
    }

    private static func isHost(_ address: IPAddress) -> Bool {
        address.zone == nil && !address.isWildcard && !address.isMulticastOrBroadcast
            && !address.isLoopback
    }

    /// The configuration with the servers of `-rs`.
    func configuration(servers texts: [String]) throws(ConfigProblem) -> Configuration {
        try configuration(
            texts.map { text throws(ConfigProblem) in
                guard let address = IPAddress(text) else { throw Self.noServer(text, "") }
                return Endpoint(address, port: ports[0])
            }, file: "")
    }

    /// The configuration with the servers in the file of `-cfg`, one address a line:
    ///
    ///     [Real Servers]
    ///     10.0.0.4
    ///     10.0.0.2
    @Sendable func load(_ path: String) -> ConfigurationResult {
        do throws(ConfigProblem) {
            return .valid(try configuration(servers(at: path), file: path), warnings: [])
        } catch {
            return .invalid([error])
        }
    }

    private func servers(at path: String) throws(ConfigProblem) -> [Endpoint] {
        let remedy = "list one address a line below [Real Servers]"
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try SmallFile.bytes(of: path)
        } catch {
            let what =
                switch error.code {
                case ENOENT: "the file does not exist"
                case ESPIPE: "the file cannot be read: it is a pipe or a device"
                default: "the file cannot be read: \(error.reason)"
                }
            throw ConfigProblem(file: path, what: what, remedy: remedy)
        }
        do throws(ReceiverList.Malformed) {
            let text = String(decoding: bytes, as: UTF8.self)
            return try ReceiverList(text, port: ports[0], isStrict: true).endpoints
        } catch {
            throw ConfigProblem(
                file: path, line: error.line, what: LineLogHandler.escaped(error.what),
                remedy: remedy)
        }
    }

    private static func noServer(_ text: String, _ file: String) -> ConfigProblem {
        ConfigProblem(
            file: file,
            what: "'\(LineLogHandler.escaped(text))' is not the address of a real server",
            remedy: "give one without a port, such as 10.40.0.2")
    }

    /// - Parameter file: the file's name in problems; empty: no file.
    private func configuration(
        _ servers: [Endpoint], file: String
    ) throws(ConfigProblem) -> Configuration {
        func problem(_ what: String, _ remedy: String) -> ConfigProblem {
            ConfigProblem(file: file, what: what, remedy: remedy)
        }
        guard !servers.isEmpty else {
            throw problem("there is no real server", "list at least one address")
        }
        guard servers.count <= maxServers else {
            throw problem(
                "\(servers.count) real servers are more than -mrs allows (\(maxServers))",
                "raise -mrs, at most to 1024")
        }
        for (index, server) in servers.enumerated() {
            let host = server.address
            guard server.port == ports[0] else { throw Self.noServer("\(server)", file) }
            guard Self.isHost(host) else { throw Self.noServer("\(host)", file) }
            guard host.family == address.family else {
                throw problem(
                    "\(host) is \(host.family.rawValue), and \(address) \(address.family.rawValue)",
                    "use addresses of one family")
            }
            guard host != address else {
                throw problem(
                    "\(host) is the virtual server itself", "list other hosts")
            }
            guard !servers[..<index].contains(server) else {
                throw problem("\(host) is listed twice", "list it once")
            }
        }
        var settings = ListenerSettings()
        settings.maxDownstream = maxServers
        settings.maxPacketSize = 65535
        let nat = NATSettings(
            furtherPorts: Array(ports.dropFirst()), isOneArm: !isRouted,
            maxAssociations: maxAssociations)
        let downstreams = servers.map {
            DownstreamConfiguration(name: "\($0.address)", address: $0)
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
