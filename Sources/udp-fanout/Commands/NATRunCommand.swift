// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet
internal import Logging

struct NATRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the balancer (the default).",
        usage: NATCommand.usageOfRun,
        discussion: """
            Each client of the virtual address stays with its real server, in both directions, until its \
            association is evicted. Clients and servers are behind one gateway, as with sbulb, unless \
            --routed is given. The file of -cfg is read again when it changes; an invalid or missing one \
            keeps the current servers. The long options also accept dashes instead of underscores.
            """)

    @Argument(help: "The network interface, such as eth0.")
    var ifnet: String

    @Option(
        name: [.customLong("virtual_server"), .customLong("virtual-server")],
        help: ArgumentHelp(
            "-vs: the virtual address, such as 10.40.0.1; one, not a loopback address.",
            valueName: "vip"))
    var virtualServer: [String] = []

    @Option(
        name: [.customLong("real_server"), .customLong("real-server")], parsing: .upToNextOption,
        help: ArgumentHelp(
            "-rs: the real servers' addresses, such as 10.40.0.2 10.40.0.3.", valueName: "ip"))
    var realServer: [String] = []

    @Option(
        name: [.customLong("config_file"), .customLong("config-file")],
        help: ArgumentHelp(
            "-cfg: a file with their addresses, one a line below [Real Servers].", valueName: "file"
        ))
    var configFile: String?

    @Option(parsing: .upToNextOption, help: "-p: the UDP ports.")
    var port: [String] = []

    @Option(
        help: ArgumentHelp(
            "-d: 0 to 4; from 1 debug messages are logged, from 3 all.", valueName: "number"))
    var debug = 0

    @Option(
        name: [.customLong("loglevel"), .customLong("log-level")],
        help: ArgumentHelp(
            "-l: CRITICAL, ERROR, WARNING, INFO, DEBUG or TRACE.", valueName: "level"))
    var loglevel = "INFO"

    @Option(help: "Log format: text or json.")
    var logFormat = LogFormat.text

    @Option(
        name: [.customLong("max_ports"), .customLong("max-ports")],
        help: ArgumentHelp("-mp: the most ports.", valueName: "number"))
    var maxPorts = 16

    @Option(
        name: [.customLong("max_realservers"), .customLong("max-realservers")],
        help: ArgumentHelp("-mrs: the most real servers.", valueName: "number"))
    var maxRealservers = 32

    @Option(
        name: [.customLong("max_associations"), .customLong("max-associations")],
        help: ArgumentHelp(
            "-ma: the most associations; a full table evicts the oldest.", valueName: "number"))
    var maxAssociations = 1_048_576

    @Flag(help: "Send packets by the kernel's routes, out of any interface.")
    var routed = false

    @Option(
        help: """
            round_robin (roundrobin), random, source_ip (iphash) or four_tuple. (default: round_robin)
            """,
        transform: NATService.balance)
    var balance = Balance.roundRobin

    func validate() throws { _ = try service() }

    func run() async throws {
        let logger = try logger()
        let service = try service()
        logger.info("starting udp-fanout", metadata: ["version": "\(Version.number)"])
        let file = configFile.map {
            ConfigurationFile(path: $0, tellsOfAbsence: true, load: service.load)
        }
        let report = file.map { ConfigurationReport($0) }
        let configuration = try report?.accepted(logger) ?? self.configuration(service)
        let daemon = Daemon(
            file: file, source: report?.source, configuration: configuration, logger: logger)
        let signals = await SignalLoop(logger: logger)
        guard await daemon.start() else { throw ExitCode(1) }
        await signals.run(
            onHangUp: { Task { await daemon.reload() } },
            onTermination: { isRestart in
                Task {
                    await daemon.stop(forRestart: isRestart)
                    ThisProcess.exitNow(0)
                }
            })
    }

    /// The configuration with the servers of `-rs`.
    private func configuration(_ service: NATService) throws -> Configuration {
        do throws(ConfigProblem) {
            return try service.configuration(servers: realServer)
        } catch {
            StandardStream.error.write("nat: \(error)\n")
            throw ExitCode(1)
        }
    }

    private func service() throws -> NATService {
        guard let address = virtualServer.first else {
            throw ValidationError("give the virtual address with -vs (--virtual_server)")
        }
        guard virtualServer.count == 1 else {
            throw ValidationError(
                "-vs is given \(virtualServer.count) times; a balancer has one virtual address: run one for "
                    + "each, or list them in addresses of a listener of mode xdp_nat")
        }
        guard realServer.isEmpty != (configFile == nil) else {
            throw ValidationError(
                realServer.isEmpty
                    ? "give the real servers with -rs, or a file with -cfg"
                    : "-rs and -cfg exclude each other")
        }
        guard (0...4).contains(debug) else { throw ValidationError("-d takes 0 to 4") }
        _ = try Self.level(loglevel)
        return try NATService(
            interface: ifnet, address: address, ports: port, balance: balance,
            isRouted: routed, maxPorts: maxPorts, maxServers: maxRealservers,
            maxAssociations: maxAssociations)
    }

    private func logger() throws -> Logger {
        var level = try Self.level(loglevel)
        if debug >= 3 { level = .trace } else if debug >= 1, level != .trace { level = .debug }
        return try LogOptions.logger(flag: level, format: logFormat)
    }

    /// sbulb's levels, in any case, and our own.
    private static func level(_ text: String) throws -> LogLevel {
        switch text.lowercased() {
        case "critical": return .error
        case "warning": return .warn
        case let other:
            guard let level = LogLevel(rawValue: other) else {
                throw ValidationError(
                    "'\(LineLogHandler.escaped(text))' is not a level; must be CRITICAL, ERROR, "
                        + "WARNING, INFO, DEBUG or TRACE")
            }
            return level
        }
    }
}
