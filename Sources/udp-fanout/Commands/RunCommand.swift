// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
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

    func run() async throws {
        let logger = try log.logger(otherwise: .info)
        logger.info(
            "starting udp-fanout",
            metadata: ["version": "\(Version.number)", "config": "\(config)"])
        let report = ConfigurationReport(path: config)
        let configuration = try report.accepted(logger)
        let programs = KernelModePrograms(tc: ebpfProgram, xdp: xdpProgram)
        programs.warn(configuration, logger)
        let daemon = Daemon(
            path: config, source: report.source, configuration: configuration,
            programs: programs, logger: logger)
        let signals = await SignalLoop(logger: logger)
        guard await daemon.start() else { throw ExitCode(1) }
        await signals.run(
            onHangUp: { Task { await daemon.reload() } },
            onTermination: {
                Task {
                    await daemon.stop()
                    ThisProcess.exitNow(0)
                }
            })
    }
}
