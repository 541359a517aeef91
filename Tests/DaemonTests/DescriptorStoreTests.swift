// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import LinuxNet
import Testing
import Tiers

extension DaemonTests {
    /// The service manager keeps the sockets between two starts, or has opened them itself.
    @Suite("Sockets of the service manager", .tags(.load))
    struct DescriptorStoreTests {}
}

extension DaemonTests.DescriptorStoreTests {
    private func load(_ config: ConfigText) throws -> Load {
        let target = Endpoint(.loopback, port: config.listeners[0].port)
        return try Load((0..<16).map { _ in try Traffic(to: target) }, rate: TakeoverChain.rate)
    }

    @Test("a restart loses nothing, with one worker or three", arguments: [1, 3])
    func restart(workers: Int) async throws {
        let place = try ScratchFolder()
        let manager = try NotifySocket(place)
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports)
        // Room for what arrives while no daemon runs.
        config.settings = ["workers: \(workers)", "recv_buf_size: 67108864"]
        let chain = try await TakeoverChain(
            config.yaml, environment: ["NOTIFY_SOCKET": manager.path]
        ) { try load(config) }
        for _ in 0..<3 {
            try await chain.restart(config.yaml, by: manager)
            #expect(manager.kept.count == workers)
        }
        try await chain.settle(sinks)
    }

    @Test(
        "after kill -9 the datagrams queued in the sockets are forwarded",
        arguments: [Receivers.written, .found, .vanished])
    func killed(receivers: Receivers) async throws {
        let folder = try ScratchFolder()
        let manager = try NotifySocket(folder)
        let sinks = try tallyingSinks(1)
        let config = try ConfigText.simple(receivers: sinks.ports)
        let yaml = try text(of: config, receivers, sinks, in: folder)
        let environment = ["NOTIFY_SOCKET": manager.path]
        let first = try DaemonUnderTest(yaml, environment: environment, folder: folder)
        try await first.isRunning()
        try await eventually("the sockets are kept") { manager.kept.count == 1 }
        if receivers == .vanished {
            try await first.remembersReceivers()
            try FileManager.default.removeItem(atPath: folder.path("receivers"))
        }
        await first.process.end()
        let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
        for number in 0..<100 { #expect(traffic.send([UInt8(number)])) }
        let second = try DaemonUnderTest(
            yaml, environment: environment, folder: folder, passing: manager.kept)
        try await second.isRunning()
        try await eventually("all of them arrive") { sinks[0].arrivals == 100 }
        try await second.stop()
    }

    /// A configuration of one listener, with its receivers in the file or in a list beside it.
    private func text(
        of config: ConfigText, _ receivers: Receivers, _ sinks: [Sink], in folder: ScratchFolder
    ) throws -> String {
        guard receivers != .written else { return config.yaml }
        let list = sinks.map { "\($0.endpoint)\n" }.joined()
        return """
            listeners:
              - name: in
                bind: "127.0.0.1:\(config.listeners[0].port)"
                file: {path: "\(try folder.write(list, to: "receivers"))"}
            settings: {workers: 1}

            """
    }

    @Test("after a reload the manager keeps only the sockets in service")
    func reloaded() async throws {
        let folder = try ScratchFolder()
        let manager = try NotifySocket(folder)
        var config = try ConfigText.simple()
        try await DaemonUnderTest.running(
            config.yaml, environment: ["NOTIFY_SOCKET": manager.path], folder: folder
        ) { daemon in
            try await eventually("one is kept") { manager.kept.count == 1 }
            config.settings[0] = "workers: 3"
            try await daemon.reload(config.yaml)
            try await eventually("three are kept") { manager.kept.count == 3 }
            for kept in manager.kept {
                let name = Socket.datagramName(of: kept.descriptor)
                #expect(name?.port == config.listeners[0].port)
            }
            config.listeners[0].port = try Ports.free()
            config.settings[0] = "workers: 1"
            try await daemon.reload(config.yaml)
            try await eventually("the other socket is kept") {
                manager.kept.map { Socket.datagramName(of: $0.descriptor)?.port }
                    == [config.listeners[0].port]
            }
            try await daemon.stop()
        }
    }

    @Test(
        "the sockets of a socket unit are used, and their queued datagrams are forwarded",
        arguments: [Receivers.written, .found])
    func socketUnit(receivers: Receivers) async throws {
        let folder = try ScratchFolder()
        let sinks = try tallyingSinks(1)
        let config = try ConfigText.simple(receivers: sinks.ports)
        let port = config.listeners[0].port
        let held = try HeldPort(port, SOCK_DGRAM)
        let traffic = try Traffic(to: Endpoint(.loopback, port: port))
        for number in 0..<50 { #expect(traffic.send([UInt8(number)])) }
        let stray = try HeldPort(try Ports.free(), SOCK_STREAM, listens: true)
        let daemon = try DaemonUnderTest(
            text(of: config, receivers, sinks, in: folder), folder: folder,
            passing: [(held.descriptor, "udp-fanout.socket"), (stray.descriptor, "stray")])
        try await daemon.isRunning()
        try await eventually("all of them arrive") { sinks[0].arrivals == 50 }
        try await daemon.stop()
    }
}
