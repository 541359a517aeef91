// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import LinuxNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("from start to stop")
    struct LifecycleTests {
        @Test("at stop forwards the received datagrams and the kernel's queue")
        func stopDrains() async throws {
            let stage = Stage.userspace
            for round in 0..<10 {
                let sinks = try stage.sinks(2, keepsPayloads: false)
                let listener = try stage.listener(
                    to: sinks.downstreams(), settings: .roomy(workers: 2))
                let rig = try await stage.rig([listener])
                let sources = try (0..<8).map { try stage.traffic(to: listener, client: $0) }
                for number in 0..<2000 as Range<UInt64> {
                    let stamp = Stamp(flow: 1, sequence: number).payload(size: 64)
                    #expect(sources[Int(number % 8)].send(stamp))
                }
                let counters = try #require(await rig.stop().first)
                #expect(counters.packetsReceived == 2000, "round \(round)")
                #expect(counters.packetsForwarded == 2000)
                #expect(counters.isBalanced)
                try await eventually("all arrive") { sinks.total == 2000 }
            }
        }

        @Test("leaves no socket and no thread behind, a hundred times")
        func noLeaks() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(3)
            let listener = try stage.listener(
                "leak", .fourTuple, to: sinks.downstreams(), settings: ListenerSettings(workers: 4))
            let port = sinks[0].endpoint.port
            #expect(Probe.udpSockets(at: port) == 1)
            for round in 0..<100 {
                let rig = try await stage.rig([listener])
                #expect(Probe.threads(named: "fanout-leak") == 4)
                // /proc/net/udp is not a consistent snapshot while other suites open thousands of sockets.
                try await eventually("each worker has one socket to receive and one to send") {
                    Probe.udpSockets(at: port) == 5 && Probe.udpSockets(at: listener.bind.port) == 4
                }
                // A plane that is released without a stop must clean up too.
                if round % 2 == 0 { await rig.stop() }
                _ = consume rig
                try await eventually("its sockets and threads are gone") {
                    Probe.threads(named: "fanout-leak") == 0 && Probe.udpSockets(at: port) == 1
                        && Probe.udpSockets(at: listener.bind.port) == 0
                }
            }
        }

        @Test("is closed to new datagrams when stop returns")
        func refusesAfterStop() async throws {
            let stage = Stage.userspace
            let listener = try stage.listener(to: [])
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            #expect(traffic.send([1]))
            let counters = try #require(await rig.stop().first)
            #expect(counters.drops[.noHealthy] == 1)
            #expect(traffic.send([2]))
            #expect(!traffic.send([3]), "the refusal of the previous one is reported")
        }

        @Test("serves 1 000 receivers behind one listener", .timeLimit(.minutes(1)))
        func manyReceivers() async throws {
            ThisProcess.raiseOpenFiles()
            let stage = Stage.userspace
            let sink = try Sink(on: .any, keepsPayloads: false)
            let downstreams = (0..<1000).map { number in
                Downstream(
                    name: "d\(number)",
                    endpoint: Endpoint(.loopback(0x1000 + UInt32(number)), port: sink.endpoint.port)
                )
            }
            var settings = ListenerSettings.roomy(workers: 2)
            settings.maxDownstream = 1000
            let listener = try stage.listener("in", to: downstreams, settings: settings)
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            let report = try await Load([traffic], rate: 20_000, total: 16_000).finish()
            let counters = try await rig.settled(at: report.datagrams)
            #expect(
                counters.downstreams.map(\.packetsForwarded) == Array(repeating: 16, count: 1000))
            try await eventually("all arrive") { sink.arrivals == report.datagrams }
            await rig.stop()
        }

        @Test("serves 200 listeners", .timeLimit(.minutes(1)))
        func manyListeners() async throws {
            ThisProcess.raiseOpenFiles()
            let stage = Stage.userspace
            let sinks = try stage.sinks(3)
            let first = try Endpoint.free().port
            let listeners = try (0..<200).map { number in
                var listener = try stage.listener(
                    "in\(number)", to: sinks.downstreams(), settings: ListenerSettings(workers: 2))
                listener.bind = Endpoint(.loopback(0x2000 + UInt32(number)), port: first)
                return listener
            }
            let rig = try await stage.rig(listeners)
            for listener in listeners { #expect(try stage.traffic(to: listener).send([1])) }
            try await eventually("each forwards") { sinks.total == 200 }
            try await eventually("the counters are exact") {
                await rig.plane.counters().allSatisfy { $0.packetsForwarded == 1 && $0.isBalanced }
            }
            // One is removed, one changes, the others are not affected.
            var fewer = Array(listeners.dropFirst())
            fewer[0].settings.workers = 1
            try await rig.apply(fewer)
            for listener in fewer { #expect(try stage.traffic(to: listener).send([1])) }
            try await eventually("each forwards") { sinks.total == 399 }
            await rig.stop()
        }
    }
}
