// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import LinuxNet
internal import Logging
internal import Synchronization

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the daemon (the default).")

    @OptionGroup var file: ConfigOption

    @OptionGroup var log: LogOptions

    @Option(
        help: "A TC program to load instead of the embedded one; for listeners of mode tc_ebpf.")
    var ebpfProgram: String?

    @Option(
        help: "An XDP program to load instead of the embedded one; for listeners of mode af_xdp.")
    var xdpProgram: String?

    @Flag(
        help: ArgumentHelp(
            "Take over from the daemon at the control socket, without losing a datagram.",
            discussion: """
                The old daemon passes on its listening sockets, leaves its programs attached, and ends. \
                If the new one fails, the old one continues. Without a running daemon this is a normal \
                start, which waits up to 20 seconds for the ports of a daemon that is ending.
                """))
    var takeover = false

    func run() async throws {
        let logger = try log.logger(otherwise: .info)
        let config = ConfigurationFile(path: try file.path())
        let signals = await SignalLoop(logger: logger)
        logger.info(
            "starting udp-fanout",
            metadata: ["version": "\(Version.number)", "config": "\(config.path)"])
        let report = ConfigurationReport(config)
        let configuration = try report.accepted(logger)
        let programs = KernelModePrograms(tc: ebpfProgram, xdp: xdpProgram)
        programs.warn(configuration, logger)
        let start = Start()
        // Signals are handled once the daemon runs; only a takeover is aborted at once.
        let hearing = Task { [takeover] in
            await signals.run(
                onHangUp: {
                    guard let daemon = start.daemon else { return }
                    Task { await daemon.reload() }
                },
                onTermination: { isRestart in
                    guard let daemon = start.daemon else {
                        // Nothing is open yet; an old daemon that was asked for its sockets continues.
                        logger.info("udp-fanout stopped")
                        ThisProcess.exitNow(takeover ? 1 : 0)
                    }
                    Task {
                        // Otherwise it is already ending.
                        if await daemon.stop(forRestart: isRestart) { ThisProcess.exitNow(0) }
                    }
                })
        }
        let daemon = Daemon(
            file: config, source: report.source, configuration: configuration,
            programs: programs, inheritance: try await inheritance(configuration, logger),
            logger: logger)
        start.daemon = daemon
        guard await daemon.start() else { throw ExitCode(1) }
        await hearing.value
    }

    private func inheritance(
        _ configuration: Configuration, _ logger: Logger
    ) async throws -> Inheritance {
        let path = configuration.control.socket ?? ControlPlace.own
        guard !takeover || (configuration.control.enabled && path != nil) else {
            StandardStream.error.write(
                "--takeover: there is no control socket to ask: set control.socket\n")
            throw ExitCode(1)
        }
        do {
            let inheritance = try await Inheritance.found(at: takeover ? path : nil)
            if inheritance.isAfterEnd {
                logger.info("no daemon to take over from", metadata: ["path": "\(path ?? "")"])
            }
            return inheritance
        } catch {
            logger.error(
                "takeover aborted; the old process continues", metadata: ["error": "\(error)"])
            throw ExitCode(1)
        }
    }
}

/// The daemon of a start, once it has been created.
private final class Start: Sendable {
    private let made = Mutex<Daemon?>(nil)

    var daemon: Daemon? {
        get { made.withLock { $0 } }
        set { made.withLock { $0 = newValue } }
    }
}
