// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

/// Daemons that follow one another under load, all in one folder and so by one control socket.
final class TakeoverChain {
    /// 50 000 datagrams a second, and what a build without optimisation can do.
    #if DEBUG
        static let rate = 20_000
    #else
        static let rate = 50_000
    #endif

    let folder: ScratchFolder
    let load: Load
    private(set) var daemons: [DaemonUnderTest]
    /// Those that have failed to take over; they may have forwarded something by then.
    private var refused: [DaemonUnderTest] = []

    var current: DaemonUnderTest { daemons[daemons.count - 1] }

    /// Starts the first daemon and, once it runs, the load.
    init(
        _ config: String, environment: [String: String] = [:],
        passing: [(descriptor: Int32, name: String)] = [], load: () throws -> Load
    ) async throws {
        folder = try ScratchFolder()
        daemons = [
            try DaemonUnderTest(
                config, environment: environment, folder: folder, passing: passing)
        ]
        try await daemons[0].isRunning()
        self.load = try load()
        try await self.load.pass(1000)
    }

    /// Starts a daemon that takes the place of the current one, and waits until it has.
    func takeOver(_ config: String, _ arguments: [String] = []) async throws {
        let previous = current
        let next = try DaemonUnderTest(config, ["--takeover"] + arguments, folder: folder)
        try await next.isRunning()
        let ending = try await previous.process.exit()
        #expect(ending == .exited(0))
        #expect(previous.times("udp-fanout stopped") == 1)
        daemons.append(next)
        try await load.pass(1000)
    }

    /// Starts one that fails to, and waits until the current one has noticed.
    func refuse(_ config: String) async throws -> DaemonUnderTest {
        let name = "refused.yaml"
        let path = try folder.write(config, to: name)
        let next = try DaemonUnderTest(nil, ["--takeover", "--config", path], folder: folder)
        #expect(try await next.process.exit() == .exited(1))
        refused.append(next)
        try await load.pass(1000)
        return next
    }

    /// Starts one that is killed when the current one has let it begin, and before it asks for more: it waits for
    /// the receivers of a listener whose name server does not answer.
    func killAtBeginning(_ config: String) async throws {
        let previous = current
        let silent = try HeldPort(try Ports.free(), SOCK_DGRAM)
        let looking =
            "  - {name: looking, bind: \"127.0.0.1:\(try Ports.free())\", dns: {name: r.example, port: 9,"
            + " server: \"127.0.0.1:\(silent.port)\"}}\n"
        let other = config.replacing(
            "listeners:\n", with: "listeners:\n" + looking, maxReplacements: 1)
        let path = try folder.write(other, to: "killed.yaml")
        let begun = previous.times(Self.begins)
        let next = try DaemonUnderTest(nil, ["--takeover", "--config", path], folder: folder)
        try await next.logs("taking over")
        #expect(previous.times(Self.begins) == begun + 1)
        let times = previous.times(Self.goesOn)
        next.process.send(SIGKILL)
        #expect(try await next.process.exit() == .killed(SIGKILL))
        try await previous.logs(Self.goesOn, times: times + 1)
        refused.append(next)
        try await load.pass(1000)
    }

    /// What a daemon says when another one begins to take its place.
    private static let begins = "another process begins to take over"

    /// Starts one that is killed when the current one has done a step of the takeover for it. The first daemon
    /// writes a debug log.
    ///
    /// - Returns: false when it was too quick for that, and has taken over.
    func kill(_ config: String, after step: String) async throws -> Bool {
        let previous = current
        let earlier = Self.steps(of: previous, named: step)
        let path = try folder.write(config, to: "killed.yaml")
        let next = try DaemonUnderTest(
            nil, ["--takeover", "--config", path], environment: ["UDP_FANOUT_LOG": "debug"],
            folder: folder)
        try await eventually("the step is done") { Self.steps(of: previous, named: step) > earlier }
        next.process.send(SIGSTOP)
        // Requests are answered in turn: what it had asked for before it stopped is done after this.
        _ = try await DaemonUnderTest.run(["status"], folder: folder)
        guard Self.steps(of: previous, named: "finish") == 0,
            previous.times("udp-fanout stopped") == 0
        else {
            next.process.send(SIGCONT)
            try await next.isRunning()
            #expect(try await previous.process.exit() == .exited(0))
            daemons.append(next)
            return false
        }
        let times = previous.times(Self.goesOn)
        next.process.send(SIGKILL)
        _ = try await next.process.exit()
        try await previous.logs(Self.goesOn, times: times + 1)
        refused.append(next)
        try await load.pass(1000)
        return true
    }

    /// What a daemon says whose successor has failed.
    static let goesOn = "the process that was to take over has failed; this one goes on"

    private static func steps(of daemon: DaemonUnderTest, named step: String) -> Int {
        daemon.log.count {
            $0.message == "a step of another process that takes over is done"
                && $0.fields["step"] == step
        }
    }

    /// Ends the current one by SIGTERM and starts another, which gets what the manager has kept.
    func restart(_ config: String, by manager: NotifySocket) async throws {
        let previous = current
        previous.process.send(SIGTERM)
        #expect(try await previous.process.exit() == .exited(0))
        daemons.append(
            try DaemonUnderTest(
                config, environment: ["NOTIFY_SOCKET": manager.path], folder: folder,
                passing: manager.kept))
        try await current.isRunning()
        try await load.pass(1000)
    }

    /// A number of the last words about listener `in`, over all daemons.
    func total(_ key: String, listener: String = "in") -> Int {
        (daemons + refused).map { daemon in
            let line = daemon.log.last {
                $0.message == "listener totals" && $0.fields["listener"] == listener
            }
            return line?.fields[key].flatMap { Int($0) } ?? 0
        }.reduce(0, +)
    }

    /// Ends load and daemon and expects that every datagram arrived once, in order, and that the books of
    /// all daemons together are exact.
    ///
    /// - Parameter isOrdered: whether no datagram may have overtaken another.
    func settle(
        _ sinks: [Sink], isOrdered: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let report = await load.stop()
        try? await eventually(within: .seconds(3), "all arrived") {
            sinks.arrivals >= report.datagrams
        }
        try await current.stop()
        var delivery = Delivery(of: report, at: sinks)
        if !isOrdered { delivery.disorders = 0 }
        let last = current.log.last { $0.message == "listener totals" }
        // The kernel counts at the socket, which all of them have had.
        let atListener = UInt64(last?.fields["kernel_drops"] ?? "") ?? 0
        #expect(
            delivery.isExact(droppedAtListener: atListener), "\(delivery) \(atListener)",
            sourceLocation: sourceLocation)
        #expect(atListener == 0, sourceLocation: sourceLocation)
        #expect(
            total("received") + Int(atListener) == Int(delivery.sent),
            sourceLocation: sourceLocation)
        #expect(
            total("received") == total("forwarded") + total("dropped"),
            sourceLocation: sourceLocation)
    }
}
