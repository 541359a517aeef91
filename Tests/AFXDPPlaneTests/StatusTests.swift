// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import FanoutCore
import LabNet
import PlaneContract
import Testing

extension AFXDPPlaneTests {
    @Suite("reports")
    struct StatusTests {
        private func hook(_ name: String) -> [FanoutCore.Attachment] {
            [FanoutCore.Attachment(mode: .afXDP, interface: "lb0", hook: name)]
        }

        @Test("where its program runs", arguments: XDPAttach.allCases)
        func attachments(mode: XDPAttach) async throws {
            let lab = try VethLab()
            try await lab.withPost(mode: mode) { post in
                let wanted = mode == .skb ? "skb" : "native"
                #expect(await post.rig.plane.attachments() == hook(wanted))
                try await post.rig.apply([])
                #expect(await post.rig.plane.attachments() == [])
                try await post.rig.apply([post.listener])
            }
        }

        @Test(
            "that a worker without packets is idle, and that one with packets makes progress"
        )
        func progress() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                let before = try #require(await post.rig.plane.progress().first)
                #expect(before.worker == "lb0/0")
                try await eventually("it rests") {
                    let looks = await [post.rig.plane.progress(), post.rig.plane.progress()]
                    return looks[0] == looks[1] && !looks[0][0].hasWork
                }
                let load = try Load([post.traffic], rate: 20_000)
                var epochs: Set<UInt64> = []
                var isSeenAtWork = false
                try await eventually("it works, and gets on") {
                    let now = try #require(await post.rig.plane.progress().first)
                    epochs.insert(now.epoch)
                    isSeenAtWork = isSeenAtWork || now.hasWork
                    return isSeenAtWork && epochs.count > 10
                }
                _ = await load.stop()
                #expect(try #require(epochs.min()) >= before.epoch)
            }
        }

        @Test("another attach mode and busy polling after a change, with continued counters")
        func changed() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                var listener = post.listener
                var sent: UInt64 = 0
                let ways: [(XDPAttach, Bool)] = [
                    (.native, true), (.skb, true), (.skb, false), (.native, false),
                ]
                for (mode, polls) in ways {
                    (listener.settings.xdpMode, listener.settings.busyPoll) = (mode, polls)
                    try await post.rig.apply([listener])
                    #expect(await post.rig.plane.attachments() == hook(mode.rawValue))
                    for _ in 0..<100 { post.traffic.send([1]) }
                    sent += 100
                    try await eventually("all arrive") { post.sink.count == sent }
                    let counters = try await post.rig.settled(at: sent)
                    #expect(counters.packetsForwarded == sent)
                    try await AccountingTests.check(post.rig.plane)
                }
            }
        }

        @Test("that a worker with busy polling keeps up with a load, and rarely sleeps")
        func busyPolling() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                var listener = post.listener
                listener.settings.busyPoll = true
                try await post.rig.apply([listener])
                let empty = { await post.rig.plane.queueCounters()[0].receiveRingEmpty }
                let before = await empty()
                // A sleeping worker checks once a second.
                try await eventually("it keeps polling") {
                    await empty() > before + 10_000
                }
                try await post.forwards()
                try await post.usesRing()
                try await post.forwardsExactly(500)
            }
        }
    }
}
