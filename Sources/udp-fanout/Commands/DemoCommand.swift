// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet
internal import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Demonstrate the daemon on loopback: three receivers, a sender, a live table.",
        discussion: """
            Everything runs in this process and needs no privilege, no file and no other host. If \
            another process has a default port, a free one is taken.
            """)

    @Option(help: "The listener's UDP port on 127.0.0.1.")
    var port: UInt16 = 9000

    @Option(help: "The TCP port of the metrics page on 127.0.0.1.")
    var metricsPort: UInt16 = 9090

    @Option(
        help: "round_robin, random, source_ip or four_tuple. (default: round_robin)",
        transform: {
            guard let balance = Balance(rawValue: $0), balance != .payload else {
                throw ValidationError("must be round_robin, random, source_ip or four_tuple")
            }
            return balance
        })
    var balance = Balance.roundRobin

    @Option(help: "Datagrams a second, 1 to 100000.")
    var rate = 1000

    @Option(help: "Run for this many seconds; 0 = until Ctrl+C.")
    var duration = 0

    @OptionGroup var log: LogOptions

    func validate() throws {
        guard (1...100_000).contains(rate) else {
            throw ValidationError("--rate takes a number from 1 to 100000")
        }
        guard duration >= 0 else { throw ValidationError("--duration takes seconds, 0 or more") }
    }

    func run() async throws {
        let logger = try log.logger(otherwise: .warn)
        let demo: Demo
        do {
            demo = try Demo(
                port: port, metricsPort: metricsPort, balance: balance, rate: rate)
        } catch {
            StandardStream.error.write("demo: \(error); it needs UDP sockets on 127.0.0.1\n")
            throw ExitCode(1)
        }
        let daemon = Daemon(file: nil, configuration: demo.configuration, logger: logger)
        let signals = await SignalLoop(logger: logger)
        guard await daemon.start() else { throw ExitCode(1) }
        try await demo.start()
        introduce(demo.configuration)
        let display = DemoDisplay(demo: demo, daemon: daemon, duration: .seconds(duration))
        let showing = Task { await display.run() }
        Task { await signals.run(onHangUp: {}, onTermination: { _ in showing.cancel() }) }
        await showing.value
        await demo.stopSending()
        await daemon.stop()
        await demo.stop()
        ThisProcess.exitNow(0)
    }

    private func introduce(_ configuration: Configuration) {
        let bind = configuration.listeners[0].bind
        StandardStream.output.write(
            """
            udp-fanout demo: datagrams to \(bind) reach exactly one of three receivers each.
              balance   \(balance.rawValue), \(rate) datagrams a second from 127.0.0.1 to 127.0.0.32
              metrics   http://\(configuration.metrics.bind)/metrics
              try it    echo hello | nc -u -w0 \(bind.address) \(bind.port)
              stop      Ctrl+C


            """)
    }
}
