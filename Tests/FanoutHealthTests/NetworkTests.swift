// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutControl
import Glibc
import LabNet
import Testing
import Tiers

@Suite(
    "Probes in a network", .tags(.network), .enabled(if: Privilege.isRoot, "NOT TESTED: needs root")
)
struct NetworkTests {
    private static let everybody = "0 2147483647"

    @Test(
        "an echo request goes through a ping socket or a raw one, and only its own reply counts",
        arguments: [everybody, "1 0"], [IPAddress.Family.v4, .v6])
    func echo(groups: String, family: IPAddress.Family) async throws {
        let lab = try VethLab(receivers: 2)
        try lab.balancer.set("ipv4/ping_group_range", to: groups)
        try await lab.balancer.run {
            let watch = Watch()
            let alive = (1...2).map {
                ProbeTarget(.icmp, Endpoint(VethLab.address(family, $0, 2), port: 9))
            }
            let dead = ProbeTarget(.icmp, Endpoint(VethLab.address(family, 1, 77), port: 9))
            try watch.follow(alive + [dead])
            for target in alive { #expect(try await watch.next(target, after: 2) == .success) }
            #expect(try await watch.next(dead) == .timeout)
            #expect(!watch.results(of: dead).contains(.success))
            try lab.receivers[0].ip("link set in0 down")
            try await eventually("its silence is noticed") {
                [.timeout, .unreachable].contains(watch.results(of: alive[0]).last)
            }
            #expect(try await watch.next(alive[1]) == .success)
        }
    }

    @Test("without a route a target is unreachable at once", arguments: ProbeKind.allCases)
    func noRoute(kind: ProbeKind) async throws {
        try await Namespace.run(["link set lo up"]) {
            let watch = Watch()
            let target = ProbeTarget(kind, Endpoint(VethLab.v4(1, 2), port: 9))
            try watch.follow([target])
            #expect(try await watch.next(target) == .unreachable)
        }
    }

    @Test(
        "a host that answers no ARP is not taken for a silent receiver",
        arguments: [ProbeKind.udp, .udpEcho, .tcp])
    func deadHost(kind: ProbeKind) async throws {
        let lab = try VethLab(receivers: 1)
        try await lab.balancer.run {
            let watch = Watch()
            let target = ProbeTarget(kind, Endpoint(VethLab.v4(1, 77), port: 9))
            // The kernel gives it up after three seconds.
            try watch.follow([target], interval: .seconds(5), timeout: .milliseconds(4000))
            try await eventually("it is probed") {
                !watch.results(of: target).isEmpty
            }
            #expect(watch.results(of: target).first == .unreachable)
        }
    }

    @Test("a user without capabilities probes in every way", arguments: ProbeKind.allCases)
    func unprivileged(kind: ProbeKind) async throws {
        let network = try Network()
        try network.set("ipv4/ping_group_range", to: Self.everybody)
        try await network.run {
            try await Privilege.without {
                let (watch, responder) = (Watch(), try Responder(.echo))
                let target = ProbeTarget(kind, responder.endpoint)
                try watch.follow([target])
                let result = try await watch.next(target)
                #expect(result == (kind == .tcp ? .refused : .success))
            }
        }
    }

    @Test("without the privilege for ICMP it says what to do, and what was probed goes on")
    func forbidden() async throws {
        let network = try Network()
        try network.set("ipv4/ping_group_range", to: "1 0")
        try await network.run {
            try await Privilege.without {
                let (watch, responder) = (Watch(), try Responder(.echo))
                let target = ProbeTarget(.udpEcho, responder.endpoint)
                try watch.follow([target])
                let error = #expect(throws: HealthError.self) {
                    try watch.follow([ProbeTarget(.icmp, responder.endpoint)])
                }
                #expect(error?.code == EPERM)
                let text = error?.description ?? ""
                #expect(text.contains("ping_group_range") && text.contains("CAP_NET_RAW"))
                #expect(try await watch.next(target) == .success)
            }
        }
    }
}
