// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Synchronization
import Testing
import Tiers

extension XDPNATPlaneTests {
    /// The promises of all planes that hold where each client keeps one receiver, and each receiver has one listener.
    /// The other suites check the rest in the form that applies here.
    static func fitting(_ promises: [Promise]) -> [Promise] {
        let fitting = [
            "source_ip takes", "four_tuple takes", "payload by", "an empty datagram",
            "the same over IPv6",
            "a datagram above max_packet_size", "without a receiver",
            "a listener that is removed", "each datagram arrives once",
            "receivers that come, go and change weight", "thousands of receivers that came",
        ]
        return promises.filter { promise in fitting.contains { promise.says.hasPrefix($0) } }
    }

    @Test(
        "keeps the promises of every plane that hold for flows",
        arguments: fitting(Promise.functional))
    func promises(promise: Promise) async throws {
        let net = try NATNet(.routed)
        try await net.balancer.run { try await promise.check(net.stage) }
    }

    @Test("keeps them under load", .tags(.load), arguments: fitting(Promise.underLoad))
    func promisesUnderLoad(promise: Promise) async throws { try await promises(promise: promise) }

    @Test("all of those promises are there")
    func promisesAreThere() { #expect(Self.fitting(Promise.all).count == 20) }
}

extension NATNet {
    /// The routed plane with clients, listeners and receivers in their places.
    var stage: Stage {
        let net = self
        let turn = Turn()
        var stage = Stage(mode: .xdpNAT) { net.plane() }
        stage.keepsSource = true
        stage.interface = "lb0"
        stage.listening = { VethLab.address($0, 0, 1) }
        stage.client = { VethLab.address($0, 9, $1 + 1) }
        stage.makeSink = { family, keeps in
            let number = turn.next % net.servers.count
            return try net.servers[number].enter {
                try Sink(on: VethLab.address(family, number + 1, 2), keepsPayloads: keeps)
            }
        }
        stage.makeTraffic = { target, source in
            try net.client.enter { try Traffic(to: target, from: source) }
        }
        return stage
    }

    /// Counts up from 0.
    private final class Turn: Sendable {
        private let count = Atomic(0)
        var next: Int { count.add(1, ordering: .relaxed).oldValue }
    }
}
