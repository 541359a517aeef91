// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension AFXDPPlaneTests {
    @Suite("on the wire")
    struct TrafficTests {
        /// Datagrams that the receivers' hosts dropped for a wrong checksum.
        private func checksumErrors(_ lab: VethLab) throws -> Int {
            try lab.receivers.reduce(0) { sum, receiver in
                let shown = try receiver.enter {
                    try Shell.output("nstat -asz UdpInCsumErrors Udp6InCsumErrors IpInHdrErrors")
                }
                return sum
                    + shown.split(separator: "\n").filter { !$0.hasPrefix("#") }.reduce(0) {
                        $0 + (Int($1.split(separator: " ").dropFirst().first ?? "") ?? 0)
                    }
            }
        }

        @Test(
            "checksums are correct and sources are kept, with checksum offload and without",
            arguments: [IPAddress.Family.v4, .v6], ["on", "off"])
        func checksums(family: IPAddress.Family, offload: String) async throws {
            let lab = try VethLab()
            try await lab.balancer.run {
                let stage = try lab.stage()
                try lab.client.command("ethtool -K c0 tx \(offload)")
                let sinks = try stage.sinks(3, family)
                let listener = try stage.listener(
                    "in", .fourTuple, to: sinks.downstreams(), family: family)
                let rig = try await stage.rig([listener])
                var sent: UInt64 = 0
                var sources: Set<Endpoint> = []
                for number in 0..<20 {
                    let traffic = try stage.traffic(to: listener, client: number)
                    sources.insert(traffic.source)
                    for size in [0, 1, 2, 3, 7, 512, 1400] {
                        traffic.send((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
                    }
                    sent += 7
                    sent += UInt64(traffic.sendSuperPacket(bytes: 20_500, segment: 1000))
                    try await eventually("all arrive") { sinks.total == sent }
                }
                let counters = try await rig.settled(at: sent)
                #expect(counters.packetsForwarded == sent)
                #expect(counters.bytesForwarded == sinks.map(\.bytes).reduce(0, +))
                #expect(Set(sinks.flatMap { $0.datagrams.map(\.source) }) == sources)
                try await AccountingTests.check(rig.plane)
                await rig.stop()
            }
            #expect(try checksumErrors(lab) == 0)
        }

        @Test("once its link-layer address is known a receiver is reached by a transmit ring")
        func ring() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                try await post.usesRing()
                let before = await post.kernelSends()
                try await post.forwardsExactly(500)
                #expect(await post.kernelSends() == before)
            }
        }

        @Test(
            "a receiver behind the interface where datagrams come in is reached by the same rings")
        func hairpin() async throws {
            let lab = try VethLab()
            try await lab.withPost(receiver: { lab in
                // With its own source.
                for scope in ["all", "c0"] {
                    try lab.client.set("ipv4/conf/\(scope)/accept_local", to: "1")
                }
                return try lab.client.enter { try Sink(on: VethLab.v4(0, 2)) }
            }) { post in
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(500)
            }
        }

        @Test(
            "the kernel delivers to a receiver on the balancer, with the client's source",
            arguments: [IPAddress.Family.v4, .v6])
        func local(family: IPAddress.Family) async throws {
            let lab = try VethLab()
            let address = VethLab.address(family, 1, 1)
            try await lab.withPost(
                family,
                receiver: { lab in
                    try lab.balancer.enter { try Sink(on: address) }
                }
            ) { post in
                try await post.forwards()
                try await post.forwardsExactly(200)
                #expect(await post.kernelSends() > 200)
                let sources = Set(post.sink.datagrams.map(\.source))
                #expect(sources == [post.traffic.source])
            }
        }

        @Test(
            "the kernel sends to a receiver until its link-layer address is known",
            arguments: [IPAddress.Family.v4, .v6])
        func unresolved(family: IPAddress.Family) async throws {
            let lab = try VethLab()
            let address = VethLab.address(family, 1, 77)
            try await lab.withPost(
                family,
                receiver: { lab in
                    // The receiver comes up before its address.
                    try lab.receivers[0].set("ipv4/ip_nonlocal_bind", to: "1")
                    try lab.receivers[0].set("ipv6/ip_nonlocal_bind", to: "1")
                    return try lab.receivers[0].enter { try Sink(on: address) }
                }
            ) { post in
                for _ in 0..<20 { post.traffic.send([1]) }
                try await eventually("the kernel has them") { await post.kernelSends() == 20 }
                let length = family == .v4 ? "24" : "64 nodad"
                try lab.receivers[0].ip("address add \(address)/\(length) dev in0")
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(50)
            }
        }

        @Test("the kernel sends to a receiver behind two next hops")
        func multipath() async throws {
            let lab = try VethLab()
            let far = try #require(IPAddress("10.41.0.1"))
            for index in 0..<2 { try lab.receivers[index].ip("address add \(far)/32 dev lo") }
            try lab.balancer.ip(
                "route add \(far) nexthop via \(VethLab.v4(1, 2)) nexthop via \(VethLab.v4(2, 2))")
            try await lab.withPost(receiver: { lab in
                try lab.receivers[0].enter { try Sink(on: far) }
            }) { post in
                let port = post.sink.endpoint.port
                let other = try lab.receivers[1].enter { try Sink(on: far, port: port) }
                for _ in 0..<50 { post.traffic.send([1]) }
                try await eventually("all arrive") { post.sink.count + other.count == 50 }
                #expect(await post.kernelSends() == 50)
            }
        }

        @Test(
            "no route: unreachable; above the MTU: message_too_long; other family: mismatch")
        func refused() async throws {
            let lab = try VethLab()
            try await lab.balancer.run {
                let stage = try lab.stage()
                let sinks = try stage.sinks(1)
                let away = try #require(IPAddress("203.0.113.9"))
                var listener = try stage.listener(to: [
                    Downstream(name: "away", endpoint: Endpoint(away, port: 9))
                ])
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                for _ in 0..<10 { traffic.send([1]) }
                try await rig.settled(at: 10)
                #expect(try await rig.counters().drops[.unreachable] == 10)

                listener.downstreams = [
                    Downstream(name: "six", endpoint: Endpoint(VethLab.v6(1, 2), port: 9))
                ]
                try await rig.apply([listener])
                for _ in 0..<10 { traffic.send([1]) }
                try await rig.settled(at: 20)
                #expect(try await rig.counters().drops[.familyMismatch] == 10)

                listener.downstreams = sinks.downstreams()
                try await rig.apply([listener])
                try lab.balancer.ip("link set out0 mtu 1000")
                var sent: UInt64 = 20
                try await eventually("it is too long") {
                    traffic.send([UInt8](repeating: 1, count: 1200))
                    sent += 1
                    try await rig.settled(at: sent)
                    return try await rig.counters().drops[.messageTooLong] ?? 0 > 0
                }
                let counters = try await rig.settled(at: sent)
                #expect(counters.downstreams[0].drops[.messageTooLong] ?? 0 > 0)
                try await AccountingTests.check(rig.plane)
                await rig.stop()
            }
        }
    }
}
