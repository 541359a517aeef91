// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

/// Daemons that take over from one another under load, in one folder and thus with one control socket.
final class TakeoverChain {
    /// Datagrams a second; fewer in an unoptimised build.
    #if DEBUG
        static let rate = 20_000
    #else
        static let rate = 50_000
    #endif

    let folder: ScratchFolder
    let load: Load
    private(set) var daemons: [DaemonUnderTest]
    /// Daemons that failed to take over; they may have forwarded datagrams before.
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

    /// Starts a daemon that takes over from the current one, and waits until it has.
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

    /// Starts a daemon whose takeover fails, and waits until it has ended.
    func refuse(_ config: String) async throws -> DaemonUnderTest {
        let name = "refused.yaml"
        let path = try folder.write(config, to: name)
        let next = try DaemonUnderTest(nil, ["--takeover", "--config", path], folder: folder)
        #expect(try await next.process.exit() == .exited(1))
        refused.append(next)
        try await load.pass(1000)
        return next
    }

    /// Starts a daemon and kills it after the first step of the takeover. It waits there for the receivers of a
    /// listener whose name server does not answer.
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

    /// The old daemon's message at the beginning of a takeover.
    private static let begins = "another process begins to take over"

    /// Starts a daemon and kills it when the current one has done a step of the takeover. The first daemon must log
    /// at level debug.
    ///
    /// - Returns: false when it was too quick and has taken over.
    func kill(_ config: String, after step: String) async throws -> Bool {
        let previous = current
        let earlier = Self.steps(of: previous, named: step)
        let path = try folder.write(config, to: "killed.yaml")
        let next = try DaemonUnderTest(
            nil, ["--takeover", "--config", path], environment: ["UDP_FANOUT_LOG": "debug"],
            folder: folder)
        try await eventually("the step is done") { Self.steps(of: previous, named: step) > earlier }
        next.process.send(SIGSTOP)
        // Requests are answered in order, so its earlier requests are done after this one.
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

    /// The old daemon's message after a failed takeover.
    static let goesOn = "takeover by another process failed; this process continues"

    private static func steps(of daemon: DaemonUnderTest, named step: String) -> Int {
        daemon.log.count {
            $0.message == "takeover step done"
                && $0.fields["step"] == step
        }
    }

    /// Ends the current daemon by SIGTERM and starts another with the descriptors that the manager has kept.
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

    /// A number of the listener's totals, summed over all daemons.
    func total(_ key: String, listener: String = "in") -> Int {
        (daemons + refused).map { daemon in
            let line = daemon.log.last {
                $0.message == "listener totals" && $0.fields["listener"] == listener
            }
            return line?.fields[key].flatMap { Int($0) } ?? 0
        }.reduce(0, +)
    }

    /// Ends load and daemon and expects that every datagram arrived once, in order, and that the counters of all
    /// daemons together add up.
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
        // The kernel counts drops at the socket, which all daemons have shared.
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
