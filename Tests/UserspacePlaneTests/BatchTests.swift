// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import LinuxNet
import PlaneContract
import Testing

@testable import UserspacePlane

extension UserspacePlaneTests {
    /// One batch of known content: it waits in the socket before the worker receives it.
    @Suite("in one batch")
    struct BatchTests {
        /// A worker that the test runs step by step, on the test's thread.
        private final class Bench {
            let listener: Listener
            private let socket: Socket
            private let row = CounterRow()
            private let batches = BatchCount()
            private let table: PreparedTable
            private var window: BatchWindow
            private let trials = Trials()

            init(_ listener: Listener) throws {
                self.listener = listener
                socket = try Socket.listening(on: listener.bind, sharing: .exclusive)
                socket.acceptSuperPackets()
                _ = try socket.requestReceiveBuffer(bytes: Sink.bufferBytes)
                table = try PreparedTable.make(for: listener, workers: 1, existing: [])[0]
                window = BatchWindow(start: listener.settings.batchSize)
            }

            deinit {
                row.free()
                batches.free()
            }

            /// Receives one batch and returns the number of messages, and all counters.
            func nextSlot() -> (messages: Int, counts: ListenerCounters) {
                var worker = UserspaceWorker(
                    .init(listener: listener, index: 0, cpu: nil, trials: trials),
                    descriptor: socket.descriptor, table: table.table, mailbox: WorkerMailbox(),
                    counters: row, batches: batches)
                worker.window = window
                let messages = worker.receiveBatch(flags: 0x40)  // MSG_DONTWAIT
                window = worker.window
                var counts = ListenerCounters(listener: listener.name, mode: .userspace)
                counts.add(row)
                counts.downstreams = listener.downstreams.map { downstream in
                    var sum = DownstreamCounters(downstream)
                    if let link = table.links[downstream.endpoint] { sum.add(link.counters) }
                    return sum
                }
                return (Int(messages), counts)
            }
        }

        private func bench(
            _ balance: Balance, _ downstreams: [Downstream], batch: Int
        ) throws -> (Bench, Traffic) {
            var settings = ListenerSettings(workers: 1)
            settings.batchSize = batch
            let listener = try Stage.userspace.listener(
                "in", balance, to: downstreams, settings: settings)
            return (try Bench(listener), try Stage.userspace.traffic(to: listener))
        }

        @Test(
            "forwards more datagrams than it gathers before sending",
            arguments: [Balance.roundRobin, .sourceIP])
        func moreThanItGathers(balance: Balance) async throws {
            let sinks = try Stage.userspace.sinks(3, keepsPayloads: false)
            let (bench, traffic) = try bench(balance, sinks.downstreams(), batch: 128)
            var sequence: UInt64 = 0
            for _ in 0..<100 {
                let pieces = (0..<120).map {
                    Stamp(flow: 1, sequence: sequence + $0).payload(size: 24)
                }
                #expect(traffic.sendSuperPacket(Array(pieces.joined()), segment: 24) == 120)
                sequence += 120
            }
            let (messages, counts) = bench.nextSlot()
            #expect(messages == 100)
            #expect(counts.packetsReceived == 12_000)
            #expect(counts.packetsForwarded == 12_000)
            try await eventually("all arrive") { sinks.total == 12_000 }
            let delivery = Delivery(of: LoadReport(sent: [1: sequence]), at: sinks)
            #expect(delivery.isExact(), "\(delivery)")
        }

        @Test("grows while datagrams wait, and shrinks when few do")
        func window() async throws {
            let sinks = try Stage.userspace.sinks(3, keepsPayloads: false)
            let (bench, traffic) = try bench(.roundRobin, sinks.downstreams(), batch: 8)
            func send(_ count: Int) {
                for _ in 0..<count { #expect(traffic.send([UInt8](repeating: 1, count: 64))) }
            }
            send(8 + 16 + 32 + 64 + 50)
            #expect((0..<5).map { _ in bench.nextSlot().messages } == [8, 16, 32, 64, 50])
            // The fifth call had room for 128. Its messages fitted into half of that, and so do the next.
            send(3)
            #expect(bench.nextSlot().messages == 3)
            send(100)
            #expect((0..<2).map { _ in bench.nextSlot().messages } == [32, 64])
            send(3)
            #expect(bench.nextSlot().messages == 4 + 3)
            let counts = bench.nextSlot().counts
            #expect(counts.packetsForwarded == 276 && counts.isBalanced)
            try await eventually("all arrive") { sinks.total == 276 }
        }

        @Test("joins datagrams to one receiver into few messages, for all sizes")
        func joins() async throws {
            let sinks = try Stage.userspace.sinks(2)
            let (bench, traffic) = try bench(.roundRobin, sinks.downstreams(), batch: 64)
            // Alternating between both receivers: each gets 8 × 100 bytes with a shorter end, then 0, then 300.
            let sizes = Array(repeating: 100, count: 16) + [40, 40, 0, 0, 300, 300]
            for size in sizes { #expect(traffic.send(SizeTests.bytes(size))) }
            let (messages, counts) = bench.nextSlot()
            #expect(messages == sizes.count)
            #expect(counts.packetsForwarded == UInt64(sizes.count))
            #expect(counts.sendCalls == 2)
            for sink in sinks {
                try await eventually("its half arrives") { sink.count == 11 }
                let wanted = (Array(repeating: 100, count: 8) + [40, 0, 300]).map(SizeTests.bytes)
                #expect(sink.datagrams.map(\.payload) == wanted)
            }
        }

        @Test(
            "sends one by one when the path does not take super-packets",
            .enabled(if: Privilege.isRoot, "needs root"), arguments: [IPAddress.Family.v4, .v6])
        func refusedSuperPacket(family: IPAddress.Family) async throws {
            try await Namespace.run(["link set lo mtu 1500 up"]) {
                let sinks = try Stage.userspace.sinks(1, family)
                let (bench, traffic) = try bench(.roundRobin, sinks.downstreams(), batch: 64)
                let sizes = [3000, 3000, 3000, 100, 3000, 3000, 2000, 50, 50, 50]
                for size in sizes { #expect(traffic.send(SizeTests.bytes(size))) }
                let (messages, counts) = bench.nextSlot()
                #expect(messages == sizes.count)
                #expect(counts.packetsForwarded == UInt64(sizes.count))
                #expect(counts.isBalanced)
                try await eventually("all arrive") { sinks[0].count == UInt64(sizes.count) }
                #expect(sinks[0].datagrams.map(\.payload) == sizes.map(SizeTests.bytes))
            }
        }

        @Test(
            "counts a firewall's rejection at the next datagram, and sends that one",
            .enabled(if: Privilege.isRoot, "needs root"))
        func rejected() async throws {
            try await Namespace.run(["link set lo up"]) {
                let sinks = try Stage.userspace.sinks(1)
                let (bench, traffic) = try bench(.roundRobin, sinks.downstreams(), batch: 8)
                try Namespace.command("nft add table inet lab")
                try Namespace.command(
                    "nft add chain inet lab in { type filter hook input priority 0 ; }")
                try Namespace.command(
                    "nft add rule inet lab in udp dport \(sinks[0].endpoint.port) "
                        + "reject with icmp type admin-prohibited")
                #expect(traffic.send([1]))
                #expect(bench.nextSlot().counts.downstreams[0].refusals == 0)
                #expect(traffic.send([2]))
                #expect(bench.nextSlot().counts.downstreams[0].refusals == 1)
                try Namespace.command("nft flush ruleset")
                #expect(traffic.send([3]))
                let counts = bench.nextSlot().counts
                #expect(counts.downstreams[0].refusals == 2)
                #expect(counts.packetsForwarded == 3 && counts.packetsDropped == 0)
                try await eventually("the last arrives") {
                    sinks[0].datagrams.map(\.payload) == [[3]]
                }
            }
        }

        @Test("sends the rest of a batch after a datagram that fails")
        func errorInTheMiddle() async throws {
            let live = try Stage.userspace.sinks(1)
            let dead = Downstream(name: "dead", endpoint: try .free(), weight: 1)
            let (bench, traffic) = try bench(.roundRobin, live.downstreams() + [dead], batch: 64)
            // No two neighbours have the same size, so each is a message of its own.
            let sizes = (1...40).map { ($0 + 1) / 2 }
            for size in sizes { #expect(traffic.send(SizeTests.bytes(size))) }
            let (_, counts) = bench.nextSlot()
            #expect(counts.packetsReceived == 40)
            #expect(counts.isBalanced)
            #expect(counts.downstreams[0].packetsForwarded == 20)
            #expect(counts.downstreams[0].refusals == 0)
            #expect(counts.downstreams[1].packetsForwarded == 20)
            try await eventually("the live one's half arrives") { live[0].count == 20 }
            #expect(live[0].datagrams.map(\.payload) == (1...20).map(SizeTests.bytes))

            // sendmmsg does not report an error at a later message, so only the next batch learns of
            // the refusals.
            for _ in 0..<2 { #expect(traffic.send([1])) }
            let next = bench.nextSlot().counts
            #expect(next.downstreams.map(\.refusals) == [0, 1])
            #expect(next.downstreams.map(\.packetsForwarded) == [21, 21])
        }
    }
}
