// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("Start-up, all or nothing")
    struct StartupTests {}
}

extension DaemonTests.StartupTests {
    @Test("a taken port ends it with 1; the error names listener, address, errno and remedy")
    func takenPort() async throws {
        var config = try ConfigText.simple(metrics: true)
        let free = config.listeners[0]
        var taken = free
        taken.name = "second"
        taken.port = try Ports.free()
        config.listeners.append(taken)
        let holder = try HeldPort(taken.port, SOCK_DGRAM)

        let daemon = try DaemonUnderTest(config.yaml)
        #expect(try await daemon.process.exit() == .exited(1))
        let failure = try #require(daemon.log.first { $0.message == "start-up failed" })
        let error = try #require(failure.fields["error"])
        #expect(failure.level == "error")
        #expect(
            error == """
                bind listener second on 127.0.0.1:\(taken.port): EADDRINUSE (Address already in use): \
                another process serves this address; stop it, choose another bind, or set \
                settings.share_port: true to share the port with it
                """)
        #expect(daemon.times("starting userspace forwarder") == 0)
        #expect(daemon.times("udp-fanout is running. Press Ctrl+C to stop.") == 0)
        #expect(try !SocketTable.serves(free.port))
        #expect(holder.port == taken.port)
    }

    @Test("a port held by a socket with SO_REUSEPORT is taken as well")
    func takenPortOfSharer() async throws {
        let config = try ConfigText.simple()
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let sharer = socket(AF_INET, kind, 0)
        defer { close(sharer) }
        var yes: Int32 = 1
        setsockopt(sharer, SOL_SOCKET, SO_REUSEPORT, &yes, socklen_t(MemoryLayout<Int32>.size))
        try HeldPort.bind(sharer, to: config.listeners[0].port)
        let daemon = try DaemonUnderTest(config.yaml)
        #expect(try await daemon.process.exit() == .exited(1))
    }

    @Test("an address that no interface has ends it with 1")
    func foreignAddress() async throws {
        var config = try ConfigText.simple()
        config.listeners[0].address = "192.0.2.1"
        let daemon = try DaemonUnderTest(config.yaml)
        #expect(try await daemon.process.exit() == .exited(1))
        let error = daemon.log.last?.fields["error"] ?? ""
        #expect(error.contains("EADDRNOTAVAIL") && error.contains("listener in"), "\(error)")
    }

    @Test("a taken metrics port ends it with 1 before a listener opens")
    func takenMetricsPort() async throws {
        let config = try ConfigText.simple(metrics: true)
        let port = try #require(config.metricsPort)
        let holder = try HeldPort(port, SOCK_STREAM, listens: true)
        let daemon = try DaemonUnderTest(config.yaml)
        #expect(try await daemon.process.exit() == .exited(1))
        let failure = try #require(daemon.log.last)
        #expect(failure.level == "error" && failure.message == "metrics server error")
        #expect(
            failure.fields["error"] == """
                metrics.bind 127.0.0.1:\(port): EADDRINUSE: another process serves this port; \
                choose another metrics.bind
                """)
        #expect(daemon.times("starting userspace forwarder") == 0)
        #expect(try !SocketTable.serves(config.listeners[0].port))
        #expect(holder.port == port)
    }

    @Test("two daemons with share_port run on one address and share its traffic")
    func sharedPort() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: [sinks[0].endpoint.port])
        config.settings.append("share_port: true")
        var other = config
        other.listeners[0].receivers[0].port = sinks[1].endpoint.port
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { first, load in
            try await DaemonUnderTest.running(other.yaml) { second in
                for daemon in [first, second] {
                    #expect(
                        try await SocketTable.ports(of: daemon.pid) == [config.listeners[0].port])
                }
                try await load.pass(5000)
                try await second.stop()
            }
        }
        // The second gets some of the 16 sources (with a chance of 1 in 65 536 to get none), and leaves nothing
        // unforwarded when it ends.
        #expect(sinks.allSatisfy { $0.count > 0 })
        outcome.expectNoLoss()
    }

    @Test("kill -9 leaves nothing that prevents the next start")
    func killedAndStartedAgain() async throws {
        let config = try ConfigText.simple(metrics: true)
        let port = try #require(config.metricsPort)
        for _ in 0..<5 {
            try await DaemonUnderTest.running(config.yaml) { daemon in
                // A connection in use when the process dies can keep the port taken.
                let client = try HTTP.connect(port)
                defer { close(client) }
                daemon.process.send(SIGKILL)
                #expect(try await daemon.process.exit() == .killed(SIGKILL))
            }
        }
    }

    @Test("config.example.yaml runs as it is")
    func example() async throws {
        for port in [5514, 9090] as [UInt16] {
            let holders = try SocketTable.holders(of: port)
            try #require(holders == [], "port \(port) is in use by \(holders)")
        }
        let text = try Files.source("config.example.yaml")
        try await DaemonUnderTest.running(text) { daemon in
            #expect(try await SocketTable.ports(of: daemon.pid) == [5514, 9090])
            #expect(try await MetricsPage.scrape(9090).count("workers") > 0)
            try await daemon.stop()
        }
    }
}
