// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CLibBPF
import FanoutCore
import Glibc
import LabNet
import PlaneContract
import Testing

extension AFXDPPlaneTests {
    @Suite("while the network changes")
    struct NetworkChangeTests {
        private static let attached = "attached XDP program"

        /// Detaches every XDP link of an interface, as `bpftool link detach` does. Must run in the interface's network.
        private func detachLinks(of interface: UInt32) {
            var identifier: UInt32 = 0
            while bpf_link_get_next_id(identifier, &identifier) == 0 {
                let link = bpf_link_get_fd_by_id(identifier)
                guard link >= 0 else { continue }
                defer { close(link) }
                var info = bpf_link_info()
                var size = UInt32(MemoryLayout<bpf_link_info>.size)
                guard bpf_obj_get_info_by_fd(link, &info, &size) == 0,
                    info.type == BPF_LINK_TYPE_XDP.rawValue, info.xdp.ifindex == interface
                else { continue }
                bpf_link_detach(link)
            }
        }

        @Test("a detached program is attached again within two seconds, and counted")
        func detached() async throws {
            let (lab, log) = (try VethLab(), LogRecorder())
            try await lab.withPost(log: log) { post in
                try await post.forwards()
                detachLinks(of: if_nametoindex("lb0"))
                #expect(try XDPOccupant.of(interface: if_nametoindex("lb0")) == nil)
                try await eventually(within: .seconds(4), "it is attached again") {
                    try XDPOccupant.of(interface: if_nametoindex("lb0")) != nil
                }
                try await post.forwards()
                try await post.forwardsExactly(100)
                #expect(await post.rig.plane.attachments().map(\.restores) == [1])
            }
            #expect(
                log.lines("the program was detached from the interface, it is attached again").count
                    == 1)
        }

        @Test("a change to a mode that the driver refuses changes nothing")
        func refusedMode() async throws {
            let lab = try VethLab()
            // A veth refuses a program when its peer has more transmit queues than it has receive queues.
            try lab.balancer.ip("link delete lb0")
            try lab.balancer.ip(
                "link add lb0 numrxqueues 1 numtxqueues 1 type veth peer name c0 netns "
                    + "\(lab.client.path) numrxqueues 4 numtxqueues 4")
            for (network, name, number) in [(lab.balancer, "lb0", 1), (lab.client, "c0", 2)] {
                try network.set("ipv4/conf/\(name)/rp_filter", to: "0")
                try network.ip("link set \(name) up")
                try network.ip("address add \(VethLab.v4(0, number))/24 dev \(name)")
            }
            try lab.client.ip("route add default via \(VethLab.v4(0, 1))")
            try await lab.withPost(mode: .skb) { post in
                try await post.forwards()
                var listener = post.listener
                listener.settings.xdpMode = .native
                await #expect(throws: PlaneError.self) { try await post.rig.apply([listener]) }
                #expect(await post.rig.plane.attachments().map(\.hook) == ["skb"])
                try await post.forwards()
                try await post.forwardsExactly(100)
            }
        }

        @Test("an interface that goes down and up keeps forwarding, with the same program")
        func downAndUp() async throws {
            let (lab, log) = (try VethLab(), LogRecorder())
            try await lab.withPost(log: log) { post in
                try await post.forwards()
                try lab.balancer.ip("link set lb0 down")
                try lab.balancer.ip("link set lb0 up")
                try await post.forwards()
                try await post.forwardsExactly(100)
            }
            #expect(log.lines(Self.attached).count == 1)
        }

        @Test("a receiver behind an interface that goes down and up is reached again")
        func receiverDownAndUp() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                try await post.usesRing()
                try lab.balancer.ip("link set out0 down")
                for _ in 0..<50 { post.traffic.send([9]) }
                try lab.balancer.ip("link set out0 up")
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(100)
            }
        }

        @Test("drops are counted and logged when the receiver's end of the link is down")
        func receiverUnplugged() async throws {
            let (lab, log) = (try VethLab(), LogRecorder())
            let (gone, back) = (
                "receivers are out of reach, their datagrams are dropped",
                "receivers are within reach again"
            )
            try await lab.withPost(log: log) { post in
                try await post.forwards()
                try await post.usesRing()
                try lab.receivers[0].ip("link set in0 down")
                try await eventually("it is logged") { !log.lines(gone).isEmpty }
                let said = try #require(log.lines(gone).first)
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
                try await post.usesRing()
                try await post.forwardsExactly(50)
                try await eventually("that is logged, too") { log.lines(back).count == 1 }
            }
        }

        @Test("an interface that is renamed stays served, also through a change of receivers")
        func renamed() async throws {
            let (lab, log) = (try VethLab(), LogRecorder())
            try await lab.withPost(log: log) { post in
                try await post.forwards()
                try lab.balancer.ip("link set lb0 down")
                try lab.balancer.ip("link set lb0 name outer up")
                try await post.forwards()
                var listener = post.listener
                let none = Endpoint(VethLab.v4(2, 2), port: 9)
                listener.downstreams.append(
                    Downstream(name: "z", endpoint: none, weight: 0))
                try await post.rig.apply([listener])
                try await post.usesRing()
                try await post.forwardsExactly(50)
                #expect(await post.rig.plane.attachments().map(\.interface) == ["lb0"])
            }
            #expect(log.lines(Self.attached).count == 1)
        }

        @Test("an interface that is deleted and made again is served again")
        func recreated() async throws {
            let (lab, log) = (try VethLab(), LogRecorder())
            try await lab.balancer.run {
                let stage = try lab.stage(logger: log.logger)
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                try stage.traffic(to: listener).send([1])
                try await eventually("it arrives") { sinks[0].count == 1 }
                try lab.balancer.ip("link delete lb0")
                try await eventually("it is logged") {
                    !log.lines("interface is gone, its listeners wait for it to come back").isEmpty
                }
                try VethLab.connect(lab.balancer, "lb0", lab.client, "c0", subnet: 0)
                try await eventually("it attaches") { log.lines(Self.attached).count == 2 }
                let traffic = try stage.traffic(to: listener)
                try await eventually("it forwards again") {
                    traffic.send([2])
                    return sinks[0].count > 1
                }
                // The last datagrams may still be on their way.
                try await eventually("every datagram is accounted for") {
                    try await rig.counters().isBalanced
                }
                #expect(try await rig.counters().packetsForwarded >= 2)
                try await AccountingTests.check(rig.plane)
                await rig.stop()
            }
        }

        @Test("receivers are reached again after their interface is deleted and made again")
        func egressRecreated() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                try await post.usesRing()
                try lab.balancer.ip("link delete out0")
                for _ in 0..<100 { post.traffic.send([9]) }
                try VethLab.connect(
                    lab.balancer, "out0", lab.receivers[0], "in0", subnet: 1)
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(100)
            }
        }

        @Test("the plane follows a route to another interface and back")
        func route() async throws {
            let lab = try VethLab()
            let virtual = try #require(IPAddress("10.40.0.1"))
            try await lab.withPost(
                receiver: { lab in
                    try lab.receivers[0].ip("address add \(virtual)/32 dev lo")
                    try lab.balancer.ip("route add \(virtual) via \(VethLab.v4(1, 2))")
                    return try lab.receivers[0].enter { try Sink(on: virtual) }
                }
            ) { post in
                try await post.forwards()
                try await post.forwardsExactly(50)
                try VethLab.connect(
                    lab.receivers[1], "side", lab.receivers[0], "edis", subnet: 20, isRouted: false)
                try lab.receivers[1].set("ipv4/ip_forward", to: "1")
                try lab.receivers[1].ip("route add \(virtual) via \(VethLab.v4(20, 2))")
                try lab.balancer.ip("route replace \(virtual) via \(VethLab.v4(2, 2))")
                try lab.balancer.ip("link set out0 down")
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(50)
                try lab.balancer.ip("link set out0 up")
                try lab.balancer.ip("route replace \(virtual) via \(VethLab.v4(1, 2))")
                try lab.receivers[1].ip("link set side down")
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(50)
            }
        }

        @Test(
            "a receiver whose hardware address changes is reached again, announced or not",
            arguments: [true, false])
        func hardwareAddress(says: Bool) async throws {
            let lab = try VethLab()
            // An unused neighbour is probed soon.
            for (name, value) in [
                ("base_reachable_time_ms", "500"), ("delay_first_probe_time", "1"),
            ] {
                try lab.balancer.set("ipv4/neigh/out0/\(name)", to: value)
            }
            try await lab.withPost { post in
                try lab.receivers[0].set("ipv4/conf/in0/arp_notify", to: says ? "1" : "0")
                try lab.receivers[0].set("ipv6/conf/in0/disable_ipv6", to: "1")
                try await post.forwards()
                try await post.usesRing()
                try lab.receivers[0].ip("link set in0 address 02:00:00:00:00:77")
                try await eventually(within: .seconds(20), "datagrams arrive") {
                    let before = post.sink.count
                    post.traffic.send([1])
                    try? await eventually(within: .milliseconds(20), "it arrives") {
                        post.sink.count > before
                    }
                    return post.sink.count > before
                }
                try await post.forwardsExactly(50)
            }
        }

        @Test("a deleted neighbour entry is resolved again without a loss")
        func forgotten() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                for _ in 0..<5 {
                    try lab.balancer.ip("neigh flush dev out0")
                    try await post.forwardsExactly(20)
                }
                try await post.usesRing()
            }
        }

        @Test("packets are still steered after the interface's hardware address changes")
        func ownHardwareAddress() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                try lab.balancer.ip("link set lb0 address 02:00:00:00:00:88")
                try lab.client.ip("neigh flush dev c0")
                try await post.forwards()
                try await post.forwardsExactly(50)
            }
        }
    }
}
