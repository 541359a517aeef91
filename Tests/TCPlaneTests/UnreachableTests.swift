// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension TCPlaneTests {
    @Suite("datagrams that the kernel would not forward")
    struct UnreachableTests {
        static let families = [IPAddress.Family.v4, .v6]
        private static let outOfReach =
            "receivers are out of reach, their datagrams are dropped"

        /// A plane whose two receivers get every other datagram: `near`, which shows that the plane works, and `far`,
        /// the subject of the test.
        private struct Post {
            let rig: Rig
            let log: LogRecorder
            let traffic: Traffic
            let near: Sink

            /// Sends that many datagrams.
            ///
            /// - Returns: the increase of the counters of `far`.
            func send(_ count: Int, bytes: Int = 1) async throws -> DownstreamCounters {
                let before = try await rig.counters()
                let (served, payload) = (near.count, [UInt8](repeating: 7, count: bytes))
                for _ in 0..<count { #expect(traffic.send(payload)) }
                try await rig.settled(at: before.packetsReceived + UInt64(count))
                try await eventually("the other receiver has its half") {
                    near.count == served + UInt64(count / 2)
                }
                let (was, now) = (before.downstreams[1], try await rig.counters().downstreams[1])
                var grown = now
                grown.packetsForwarded -= was.packetsForwarded
                grown.drops = now.drops.merging(was.drops) { $0 - $1 }.filter { $0.value > 0 }
                return grown
            }

            /// The log events about unreachable receivers.
            var said: [LogRecorder.Line] { log.lines(UnreachableTests.outOfReach) }
        }

        private func withPost(
            _ family: IPAddress.Family, far: String? = nil,
            prepare: (VethLab, IPAddress) throws -> Void,
            _ body: @Sendable (VethLab, Post, Endpoint) async throws -> Void
        ) async throws {
            let (lab, pins, log) = (try VethLab(), try BPFFileSystem(), LogRecorder())
            let address = try #require(
                IPAddress(far ?? (family == .v4 ? "10.41.0.1" : "fd41::1")))
            try prepare(lab, address)
            try await lab.balancer.run {
                let stage = lab.stage(pins, logger: log.logger)
                let near = try stage.sinks(1, family)
                let endpoint = Endpoint(address, port: 5000)
                let downstreams =
                    near.downstreams() + [Downstream(name: "far", endpoint: endpoint)]
                let listener = try stage.listener(to: downstreams, family: family)
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                let post = Post(rig: rig, log: log, traffic: traffic, near: near[0])
                try await body(lab, post, endpoint)
                await rig.stop()
            }
        }

        /// Two next hops to the same address, so that the path is known only when a packet comes.
        private static func routeByTwo(_ lab: VethLab, to far: IPAddress) throws {
            let (family, bits) = far.family == .v4 ? ("", 32) : ("-6 ", 128)
            for index in 0..<2 {
                try lab.receivers[index].ip("\(family)address add \(far)/\(bits) dev lo")
            }
            let hops = (1...2).map { "nexthop via \(VethLab.address(far.family, $0, 2))" }
            try lab.balancer.ip(
                "\(family)route add \(far) \(hops.joined(separator: " "))")
        }

        private static func setForwarding(
            _ family: IPAddress.Family, _ scope: String, to value: String, in lab: VethLab
        ) throws {
            let name = family == .v4 ? "ipv4" : "ipv6"
            try lab.balancer.set("\(name)/conf/\(scope)/forwarding", to: value)
        }

        @Test(
            "without forwarding, datagrams that need it are dropped and logged; with it, they go",
            arguments: families)
        func forwardingOff(family: IPAddress.Family) async throws {
            try await withPost(family) { lab, far in
                try Self.routeByTwo(lab, to: far)
                try Self.setForwarding(family, "all", to: "0", in: lab)
            } _: { lab, post, far in
                let dropped = try await post.send(40)
                #expect(dropped.drops == [.unreachable: 20] && dropped.packetsForwarded == 0)
                let said = try #require(post.said.first)
                #expect(said.level == .warning && said.fields["downstreams"] == "far")
                let (scope, remedy) =
                    family == .v4
                    ? ("ipv4.conf.lb0", "net.ipv4.ip_forward=1 net.ipv4.conf.lb0.forwarding=1")
                    : ("ipv6.conf.all", "net.ipv6.conf.all.forwarding=1")
                #expect(
                    said.fields["reason"]
                        == "net.\(scope).forwarding is 0, and the path to them needs IP forwarding"
                )
                #expect(said.fields["remedy"] == "sysctl -w \(remedy)")

                let sinks = try lab.receivers[..<2].map { receiver in
                    try receiver.enter { try Sink(on: far.address, port: far.port) }
                }
                try Self.setForwarding(family, "all", to: "1", in: lab)
                let forwarded = try await post.send(40)
                #expect(forwarded.drops.isEmpty && forwarded.packetsForwarded == 20)
                try await eventually("they arrive") { sinks.total == 20 }
                #expect(post.said.count == 1, "one log line is enough")
            }
        }

        @Test("the host's setting decides for IPv6, not the interface's: nothing is lost or logged")
        func interfaceOff() async throws {
            try await withPost(.v6) { lab, far in
                try Self.routeByTwo(lab, to: far)
                try Self.setForwarding(.v6, "lb0", to: "0", in: lab)
            } _: { lab, post, far in
                let sinks = try lab.receivers[..<2].map { receiver in
                    try receiver.enter { try Sink(on: far.address, port: far.port) }
                }
                let forwarded = try await post.send(40)
                #expect(forwarded.drops.isEmpty && forwarded.packetsForwarded == 20)
                try await eventually("they arrive") { sinks.total == 20 }
                #expect(post.said.isEmpty)
            }
        }

        @Test(
            "without a route they are dropped as unreachable, with one they go",
            arguments: families)
        func noRoute(family: IPAddress.Family) async throws {
            try await withPost(family) { _, _ in
            } _: { lab, post, far in
                let dropped = try await post.send(40)
                #expect(dropped.drops == [.unreachable: 20] && dropped.packetsForwarded == 0)
                #expect(post.said.first?.fields["reason"] == "there is no route to them")
                try Self.routeByTwo(lab, to: far.address)
                let forwarded = try await post.send(40)
                #expect(forwarded.drops.isEmpty && forwarded.packetsForwarded == 20)
            }
        }

        @Test(
            "into a tunnel: they go by the stack, and are dropped when it would not forward them")
        func tunnel() async throws {
            try await withPost(.v4) { lab, far in
                try lab.balancer.ip("tuntap add mode tun tun0")
                try lab.balancer.ip("link set tun0 up")
                try lab.balancer.ip("route add \(far) dev tun0")
            } _: { lab, post, _ in
                let forwarded = try await post.send(40)
                #expect(forwarded.drops.isEmpty && forwarded.packetsForwarded == 20)
                try Self.setForwarding(.v4, "lb0", to: "0", in: lab)
                let dropped = try await post.send(40)
                #expect(dropped.drops == [.unreachable: 20] && dropped.packetsForwarded == 0)
            }
        }

        @Test(
            "above the MTU and not to be fragmented, they count as message_too_long",
            arguments: families)
        func indivisible(family: IPAddress.Family) async throws {
            let far = "\(VethLab.address(family, 2, 2))"
            try await withPost(family, far: far) { lab, _ in
                try lab.balancer.ip("link set out1 mtu 1280")
            } _: { _, post, _ in
                // 28 or 48 bytes of 1280 are headers.
                let fits = try await post.send(2, bytes: family == .v4 ? 1252 : 1232)
                #expect(fits.drops.isEmpty && fits.packetsForwarded == 1)
                let dropped = try await post.send(40, bytes: family == .v4 ? 1253 : 1233)
                #expect(dropped.drops == [.messageTooLong: 20] && dropped.packetsForwarded == 0)
            }
        }
    }
}
