// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing
import Tiers

extension DaemonTests {
    /// 20 000 numbered datagrams a second to the listener `in`; none may be lost.
    @Suite("A reload under load", .tags(.load))
    struct ReloadUnderLoadTests {}
}

extension DaemonTests.ReloadUnderLoadTests {
    @Test("loses nothing while receivers are added, removed and reweighted, 20 times")
    func receivers() async throws {
        let sinks = try tallyingSinks(4)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let all = config.listeners[0].receivers
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for round in 1...20 {
                var next = config
                next.listeners[0].receivers = all.enumerated().compactMap { index, receiver in
                    var receiver = receiver
                    receiver.weight = 1 + (round + index) % 3
                    return index > 0 && (round + index) % 4 == 0 ? nil : receiver
                }
                try await daemon.swap(next)
                try await load.pass(500)
            }
        }
        outcome.expectNoLoss()
        #expect(sinks.allSatisfy { $0.count > 0 })
    }

    @Test("sends a removed receiver nothing once it is logged")
    func removed() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports)
        var without = config
        without.listeners[0].receivers.removeLast()
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            try await daemon.swap(without)
            // Datagrams sent earlier may still be in the sink's queue.
            try await load.pass(2000)
            let before = sinks[1].arrivals
            try await load.pass(10_000)
            #expect(sinks[1].arrivals == before)
        }
        outcome.expectNoLoss()
    }

    @Test("loses nothing when the listener's own sockets are replaced, 20 times")
    func replaced() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports)
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for round in 1...20 {
                var next = config
                next.listeners[0].settings = [
                    "workers: \(1 + round % 3)", "batch_size: \(8 * round)",
                ]
                next.listeners[0].balance = ["round_robin", "source_ip", "random"][round % 3]
                // The same address, narrower or wider.
                next.listeners[0].address = round % 2 == 0 ? "127.0.0.1" : "0.0.0.0"
                if round % 5 == 0 { next.listeners[0].name = "renamed" }
                try await daemon.swap(next)
                try await load.pass(500)
            }
            try await daemon.swap(config)
        }
        outcome.expectNoLoss()
    }

    @Test("loses nothing on one listener while others are added, moved and removed, 20 times")
    func others() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let ports = try (0..<3).map { _ in try Ports.free() }
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for round in 1...20 {
                var next = config
                for index in 0..<round % 3 {
                    next.listeners.append(
                        ConfigText.Listener(
                            name: "other \(index)", port: ports[(round + index) % 3],
                            receivers: config.listeners[0].receivers))
                }
                next.listeners.reverse()
                try await daemon.swap(next)
                try await load.pass(300)
            }
            try await daemon.swap(config)
        }
        outcome.expectNoLoss()
        #expect(outcome.totals["received"] == "\(outcome.delivery.sent)")
    }

    @Test("loses nothing when two listeners swap their addresses")
    func exchanged() async throws {
        let sinks = try tallyingSinks(1)
        var config = try ConfigText.simple(receivers: sinks.ports)
        var second = config.listeners[0]
        second.name = "second"
        second.port = try Ports.free()
        config.listeners.append(second)
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for round in 1...10 {
                var next = config
                if round % 2 == 1 {
                    next.listeners[0].port = config.listeners[1].port
                    next.listeners[1].port = config.listeners[0].port
                }
                try await daemon.swap(next)
                try await load.pass(300)
            }
        }
        outcome.expectNoLoss()
    }

    @Test("that fails after it has opened new sockets loses nothing")
    func refused() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports)
        var other = config.listeners[0]
        other.name = "other"
        other.port = try Ports.free()
        config.listeners.append(other)
        var bad = config
        bad.listeners[0].settings = ["workers: 4", "batch_size: 16"]
        bad.listeners[1].port = try Ports.free()
        let holder = try HeldPort(bad.listeners[1].port, SOCK_DGRAM)
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for _ in 1...20 {
                // In both orders of the two listeners in the file.
                bad.listeners.swapAt(0, 1)
                try await daemon.refuse(bad)
                try await load.pass(200)
            }
            #expect(!Ports.isFree(holder.port, SOCK_DGRAM))
        }
        outcome.expectNoLoss()
    }

    @Test("loses nothing when a second daemon is started with the same file and fails")
    func doubleStart() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports)
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            for _ in 0..<5 {
                let second = try DaemonUnderTest(config.yaml)
                #expect(try await second.process.exit() == .exited(1))
                #expect(second.log.last?.fields["error"]?.contains("EADDRINUSE") == true)
            }
            try await load.pass(500)
        }
        outcome.expectNoLoss()
        #expect(outcome.totals["received"] == "\(outcome.delivery.sent)")
    }
}
