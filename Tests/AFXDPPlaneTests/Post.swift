// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import FanoutCore
import LabNet
import PlaneContract
import Testing

/// A plane with one listener and one receiver, and helpers to check that datagrams arrive.
struct Post {
    let rig: Rig
    let sink: Sink
    let traffic: Traffic
    let listener: Listener

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
        // Others may still be on their way. No other payload begins with 0xff.
        let mark = [0xff] + (0..<7).map { _ in UInt8.random(in: 0...255) }
        for _ in 0..<count { traffic.send(mark) }
        try await eventually("\(count) datagrams arrive") {
            sink.datagrams.count { $0.payload == mark } == count
        }
    }

    /// Datagrams that the kernel sent instead of a transmit ring.
    func kernelSends() async -> UInt64 {
        await rig.plane.queueCounters().map(\.kernelSends).reduce(0, +)
    }

    /// Waits until packets to the receiver use a transmit ring.
    func usesRing() async throws {
        try await eventually("a transmit ring is used") {
            let before = await kernelSends()
            // More than one, since a worker may count after the datagram has arrived.
            for _ in 0..<3 { try await forwardsExactly(1) }
            return await kernelSends() == before
        }
    }

    /// Checks the accounting of datagrams and frames.
    func isExact() async throws {
        try await eventually("the counters add up") {
            try await rig.counters().isBalanced
        }
        try await AFXDPPlaneTests.AccountingTests.check(rig.plane)
    }
}

extension VethLab {
    /// A plane with one listener and one receiver, in the balancer.
    func withPost(
        _ family: IPAddress.Family = .v4, log: LogRecorder = LogRecorder(),
        mode: XDPAttach = .native,
        receiver: @Sendable (VethLab) throws -> Sink = { lab in
            try lab.receivers[0].enter { try Sink(on: VethLab.v4(1, 2)) }
        },
        _ body: @Sendable (Post) async throws -> Void
    ) async throws {
        let sink = try receiver(self)
        try await balancer.run {
            let stage = try stage(logger: log.logger, mode: mode)
            let listener = try stage.listener(to: [sink].downstreams(), family: family)
            let rig = try await stage.rig([listener])
            let post = try Post(
                rig: rig, sink: sink, traffic: stage.traffic(to: listener), listener: listener)
            try await body(post)
            try await post.isExact()
            await rig.stop()
        }
    }
}
