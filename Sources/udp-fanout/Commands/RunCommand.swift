// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutControlSocket
internal import FanoutCore
internal import LinuxNet
internal import Logging

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the daemon (the default).")

    @Option(name: [.long, .customShort("c")], help: "The YAML configuration file.")
    var config = "config.yaml"

    @OptionGroup var log: LogOptions

    @Option(help: "A TC program in place of the one inside; for listeners of mode tc_ebpf.")
    var ebpfProgram: String?

    @Option(help: "An XDP program in place of the one inside; for listeners of mode af_xdp.")
    var xdpProgram: String?

    @Flag(
        help:
            "Take the place of the daemon that runs at the control socket, without losing a datagram."
    )
    var takeover = false

    func run() async throws {
        let logger = try log.logger(otherwise: .info)
        logger.info(
            "starting udp-fanout",
            metadata: ["version": "\(Version.number)", "config": "\(config)"])
        let report = ConfigurationReport(path: config)
        let configuration = try report.accepted(logger)
        let programs = KernelModePrograms(tc: ebpfProgram, xdp: xdpProgram)
        programs.warn(configuration, logger)
        ThisProcess.raiseOpenFiles()
        let signals = await SignalLoop(logger: logger)
        let daemon = Daemon(
            path: config, source: report.source, configuration: configuration,
            programs: programs, inheritance: try inheritance(configuration, logger),
            logger: logger)
        // What they ask for is done once it runs, but a takeover is given up.
        let hearing = Task {
            await signals.run(
                onHangUp: { Task { await daemon.reload() } },
                onTermination: { isRestart in
                    Task {
                        // Otherwise it ends by itself, in the way that it has begun to.
                        if await daemon.stop(forRestart: isRestart) { ThisProcess.exitNow(0) }
                    }
                })
        }
        guard await daemon.start() else { throw ExitCode(1) }
        await hearing.value
    }

    private func inheritance(
        _ configuration: Configuration, _ logger: Logger
    ) throws -> Inheritance {
        let path = configuration.control.socket ?? ControlPlace.own
        guard !takeover || (configuration.control.enabled && path != nil) else {
            StandardStream.error.write(
                "--takeover: there is no control socket to ask: write control.socket\n")
            throw ExitCode(1)
        }
        do throws(ControlFailure) {
            let inheritance = try Inheritance(takingOverAt: takeover ? path : nil)
            if takeover, inheritance.predecessor == nil {
                logger.info("no daemon to take over from", metadata: ["path": "\(path ?? "")"])
            }
            return inheritance
        } catch {
            logger.error(
                "not taken over, the daemon before goes on", metadata: ["error": "\(error)"])
            throw ExitCode(1)
        }
    }
}
