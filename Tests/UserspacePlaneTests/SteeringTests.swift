// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("that steers by source")
    struct SteeringTests {
        @Test(
            "gives each source one worker, whatever the number of its ports",
            arguments: [IPAddress.loopback, .any, .any6])
        func oneWorker(bind: IPAddress) async throws {
            let sink = try Sink()
            let listener = try Stage.userspace.steered(workers: 4, at: bind, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            let meetings = try await Meetings(
                of: manyClients, ports: 8, at: listener, sink: sink, destination: .loopback)
            #expect(meetings.areSingle, "\(meetings)")
            #expect(meetings.shares.count == 4)
            // A second time, from other ports.
            let again = try await Meetings(
                of: manyClients, ports: 8, at: listener, sink: sink, destination: .loopback)
            #expect(again.workers == meetings.workers)
            await rig.stop()
        }

        @Test("does the same with IPv6", .enabled(if: Privilege.isRoot, "needs root"))
        func oneWorker6() async throws {
            try await Namespace.run(wholePrefix) {
                try Namespace.set("ipv6/ip_nonlocal_bind", to: "1")
                for bind in [IPAddress.loopback6, .any6] {
                    let sink = try Sink()
                    let listener = try Stage.userspace.steered(workers: 4, at: bind, to: sink)
                    let rig = try await Stage.userspace.rig([listener])
                    let meetings = try await Meetings(
                        of: manyClients6, ports: 8, at: listener, sink: sink,
                        destination: .loopback6)
                    #expect(meetings.areSingle, "\(meetings)")
                    #expect(meetings.shares.count == 4)
                    await rig.stop()
                }
            }
        }

        @Test("leaves steering to the kernel on request: a source's ports are spread")
        func kernel() async throws {
            let sink = try Sink()
            let listener = try Stage.userspace.steered(.kernel, workers: 4, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            let meetings = try await Meetings(
                of: manyClients, ports: 8, at: listener, sink: sink)
            #expect(meetings.workers.count { $0.count > 1 } > 60, "\(meetings)")
            await rig.stop()
        }

        @Test("gives each of 4 workers its share of 4 096 sources, within 10 %")
        func shares() async throws {
            let sink = try Sink()
            let listener = try Stage.userspace.steered(workers: 4, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            let clients = (0..<4096 as Range<UInt32>).map { IPAddress.loopback(0x2_0000 + $0) }
            let meetings = try await Meetings(of: clients, ports: 1, at: listener, sink: sink)
            #expect(meetings.shares.count == 4)
            for (worker, share) in meetings.shares {
                #expect((922...1126).contains(share), "worker \(worker): \(share) of 4096")
            }
            await rig.stop()
        }

        @Test(
            "keeps one worker a source with more or fewer workers, other settings, another name")
        func changes() async throws {
            let sink = try Sink()
            var listener = try Stage.userspace.steered(workers: 2, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            let counts = [4, 3, 3, 1, 4, 2, 5, 5, 1, 1, 2]
            for (round, workers) in counts.enumerated() {
                listener.settings.workers = workers
                listener.settings.batchSize = 10 + round
                if round % 3 == 2 { listener.name = "other \(round)" }
                try await rig.apply([listener])
                let meetings = try await Meetings(
                    of: manyClients, ports: 4, at: listener, sink: sink)
                #expect(meetings.areSingle, "\(workers) workers: \(meetings)")
                #expect(meetings.shares.count == workers)
            }
            await rig.stop()
        }

        @Test("follows a listener to another address of the same port, to a wildcard or from it")
        func addresses() async throws {
            let sink = try Sink()
            var listener = try Stage.userspace.steered(workers: 3, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            for address in [IPAddress.any, .loopback, .any6, .any, .loopback] {
                listener.bind = Endpoint(address, port: listener.bind.port)
                try await rig.apply([listener])
                let meetings = try await Meetings(
                    of: manyClients, ports: 4, at: listener, sink: sink, destination: .loopback)
                #expect(meetings.areSingle, "\(address): \(meetings)")
                #expect(meetings.shares.count == 3)
            }
            await rig.stop()
        }

        @Test("changes between source and kernel without a leftover program")
        func toAndFro() async throws {
            let sink = try Sink()
            var listener = try Stage.userspace.steered(workers: 4, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            for steer in [Steer.kernel, .sourceIP, .kernel] {
                listener.settings.steer = steer
                try await rig.apply([listener])
                let meetings = try await Meetings(
                    of: manyClients, ports: 8, at: listener, sink: sink)
                let spread = meetings.workers.count { $0.count > 1 }
                #expect(steer == .sourceIP ? spread == 0 : spread > 60, "\(meetings)")
            }
            await rig.stop()
        }
    }
}
