// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension TCPlaneTests {
    @Suite("while the network changes")
    struct NetworkChangeTests {
        private static let outOfReach =
            "receivers are out of reach, their datagrams are dropped"
        private static let withinReach = "receivers are within reach again"

        /// A plane with one listener and one receiver, and helpers to check that datagrams arrive.
        private struct Post {
            let rig: Rig
            let sink: Sink
            let traffic: Traffic

            /// Sends until one arrives.
            func forwards() async throws {
                let before = sink.count
                try await eventually("datagrams arrive") {
                    traffic.send([1])
                    return sink.count > before
                }
            }

            /// Sends `count` datagrams, and checks that each arrives once.
            func forwardsExactly(_ count: Int) async throws {
                // Others may still be on their way.
                let mark = (0..<8).map { _ in UInt8.random(in: 0...255) }
                for _ in 0..<count { traffic.send(mark) }
                try await eventually("\(count) datagrams arrive") {
                    sink.datagrams.count { $0.payload == mark } == count
                }
            }
        }

        private func withPost(
            _ family: IPAddress.Family = .v4, log: LogRecorder = LogRecorder(),
            receiver: @Sendable (VethLab) throws -> Sink = { try $0.makeSink(.v4) },
            _ body: @Sendable (VethLab, Post) async throws -> Void
        ) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            let sink = try receiver(lab)
            try await lab.balancer.run {
                let stage = lab.stage(pins, logger: log.logger)
                let listener = try stage.listener(to: [sink].downstreams(), family: family)
                let rig = try await stage.rig([listener])
                let post = try Post(rig: rig, sink: sink, traffic: stage.traffic(to: listener))
                try await body(lab, post)
                await rig.stop()
            }
            #expect(pins.isEmpty)
        }

        @Test("an interface that goes down and up keeps forwarding, with the same program")
        func downAndUp() async throws {
            let log = LogRecorder()
            try await withPost(log: log) { lab, post in
                try await post.forwards()
                try lab.balancer.ip("link set lb0 down")
                try lab.balancer.ip("link set lb0 up")
                try await post.forwards()
                try await post.forwardsExactly(100)
            }
            #expect(log.lines("attached TC eBPF program to ingress").count == 1)
        }

        @Test(
            "an interface to a receiver may go down and up, and both are logged")
        func receiverDownAndUp() async throws {
            let log = LogRecorder()
            try await withPost(log: log) { lab, post in
                try await post.forwards()
                try lab.balancer.ip("link set out0 down")
                try await eventually("it is logged") { !log.lines(Self.outOfReach).isEmpty }
                let said = try #require(log.lines(Self.outOfReach).first)
                #expect(said.fields["reason"] == "there is no route to them")
                #expect(said.fields["downstreams"] == "a")
                try lab.balancer.ip("link set out0 up")
                try await post.forwards()
                try await post.forwardsExactly(100)
                try await eventually("that is logged, too") {
                    log.lines(Self.withinReach).map { $0.fields["downstreams"] } == ["a"]
                }
            }
            #expect(log.lines(Self.outOfReach).count == 1)
        }

        @Test("drops are counted and logged when the receiver's end of the link is down")
        func receiverUnplugged() async throws {
            let log = LogRecorder()
            try await withPost(log: log) { lab, post in
                try await post.forwards()
                try lab.receivers[0].ip("link set in0 down")
                try await eventually("it is logged") { !log.lines(Self.outOfReach).isEmpty }
                let said = try #require(log.lines(Self.outOfReach).first)
                #expect(said.fields["reason"] == "the link to them has no carrier")
                let (before, arrived) = (try await post.rig.counters(), post.sink.count)
                for _ in 0..<50 { post.traffic.send([2]) }
                try await post.rig.settled(at: before.packetsReceived + 50)
                let now = try await post.rig.counters()
                #expect(now.drops[.unreachable, default: 0] == 50)
                #expect(now.packetsForwarded == before.packetsForwarded)
                #expect(post.sink.count == arrived)
                try lab.receivers[0].ip("link set in0 up")
                try lab.receivers[0].ip("route replace default via \(VethLab.v4(1, 1))")
                try await post.forwards()
                try await post.forwardsExactly(50)
                try await eventually("that is logged, too") {
                    log.lines(Self.withinReach).count == 1
                }
            }
        }

        @Test("policy rules apply to the packet's own source")
        func rule() async throws {
            let virtual = try #require(IPAddress("10.40.0.1"))
            try await withPost(
                receiver: { lab in
                    for receiver in lab.receivers[..<2] {
                        try receiver.ip("address add \(virtual)/32 dev lo")
                    }
                    try lab.balancer.ip("route add \(virtual) via \(VethLab.v4(1, 2))")
                    try lab.balancer.ip("route add \(virtual) via \(VethLab.v4(2, 2)) table 77")
                    return try lab.receivers[1].enter { try Sink(on: virtual) }
                }
            ) { lab, post in
                try lab.balancer.ip("rule add from \(VethLab.v4(9, 0))/24 table 77")
                try await post.forwards()
                try await post.forwardsExactly(50)
            }
        }

        @Test("the plane follows a route to another interface, through a gateway, and back")
        func route() async throws {
            let virtual = try #require(IPAddress("10.40.0.1"))
            try await withPost(
                receiver: { lab in
                    // The address is served on every interface.
                    try lab.receivers[0].ip("address add \(virtual)/32 dev lo")
                    try lab.balancer.ip("route add \(virtual) via \(VethLab.v4(1, 2))")
                    return try lab.receivers[0].enter { try Sink(on: virtual) }
                }
            ) { lab, post in
                try await post.forwards()
                try await post.forwardsExactly(50)
                // The second receiver's network now leads to the first.
                try VethLab.connect(
                    lab.receivers[1], "side", lab.receivers[0], "edis", subnet: 20, isRouted: false)
                try lab.receivers[1].set("ipv4/ip_forward", to: "1")
                try lab.receivers[1].ip("route add \(virtual) via \(VethLab.v4(20, 2))")
                try lab.balancer.ip("route replace \(virtual) via \(VethLab.v4(2, 2))")
                try lab.balancer.ip("link set out0 down")
                try await post.forwards()
                try await post.forwardsExactly(50)
                try lab.balancer.ip("link set out0 up")
                try lab.balancer.ip("route replace \(virtual) via \(VethLab.v4(1, 2))")
                try lab.receivers[1].ip("link set side down")
                try await post.forwards()
                try await post.forwardsExactly(50)
            }
        }

        @Test("a smaller MTU is respected: longer datagrams arrive in fragments")
        func mtu() async throws {
            try await withPost(
                receiver: { lab in
                    // Any router drops a packet above the MTU that must not be fragmented.
                    try lab.client.set("ipv4/ip_no_pmtu_disc", to: "1")
                    return try lab.makeSink(.v4)
                }
            ) { lab, post in
                let long = [UInt8](repeating: 5, count: 1400)
                post.traffic.send(long)
                try await eventually("it arrives") { post.sink.count == 1 }
                try lab.balancer.ip("link set out0 mtu 1280")
                try await eventually("it arrives in fragments") {
                    post.traffic.send(long)
                    let shown = try lab.receivers[0].enter {
                        try Shell.output("nstat -asz IpReasmOKs")
                    }
                    return shown.firstMatch(of: #/IpReasmOKs +[1-9]/#) != nil
                }
                try await post.forwardsExactly(20)
                #expect(post.sink.datagrams.contains { $0.payload == long })
            }
        }

        // The receiver's address is on a bridge: the destination address of frames matters only there, since the kernel
        // does not check it when it passes packets straight into a veth.
        @Test(
            "a receiver whose hardware address changes is reached again, announced or not",
            arguments: [true, false])
        func hardwareAddress(says: Bool) async throws {
            let known = "neigh replace \(VethLab.v4(1, 2)) lladdr 02:00:00:00:00:76 dev out0 nud"
            try await withPost(
                receiver: { lab in
                    try lab.bridgeReceiver()
                    try lab.balancer.set("ipv4/neigh/out0/delay_first_probe_time", to: "1")
                    try lab.balancer.ip("\(known) reachable")
                    return try lab.makeSink(.v4)
                }
            ) { lab, post in
                try await post.forwards()
                let machine = lab.receivers[0]
                try machine.set("ipv4/conf/br0/arp_notify", to: says ? "1" : "0")
                try machine.ip("link set br0 address 02:00:00:00:00:77")
                // The kernel keeps the old entry until the neighbour is probed, and redirected packets cause no probe.
                if !says { try lab.balancer.ip("\(known) stale") }
                try await post.forwards()
                try await post.forwardsExactly(50)
            }
        }

        @Test("a deleted neighbour entry is resolved again without a loss")
        func forgotten() async throws {
            try await withPost { lab, post in
                try await post.forwards()
                for _ in 0..<5 {
                    try lab.balancer.ip("neigh flush dev out0")
                    try await post.forwardsExactly(20)
                }
            }
        }
    }
}

extension VethLab {
    /// A receiver that keeps payloads, in the first of the networks.
    fileprivate func makeSink(_ family: IPAddress.Family) throws -> Sink {
        try receivers[0].enter { try Sink(on: Self.address(family, 1, 2)) }
    }

    /// Moves the first receiver's address to a bridge, with its link as a port.
    fileprivate func bridgeReceiver() throws {
        for step in [
            "link add br0 address 02:00:00:00:00:76 type bridge", "link set in0 master br0",
            "addr del \(Self.v4(1, 2))/24 dev in0", "addr add \(Self.v4(1, 2))/24 dev br0",
            "link set br0 up", "route add default via \(Self.v4(1, 1))",
        ] { try receivers[0].ip(step) }
    }
}
