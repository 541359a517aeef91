// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import Testing
import Tiers

@Suite("Liveness", .tags(.unit))
struct LivenessTests {
    private func seconds(_ count: Double) -> Int64 { Int64(count * 1e9) }

    @Test("ends after ten seconds without progress, and is back once the worker goes on")
    func stuck() {
        let liveness = Liveness()
        #expect(liveness.obstacle(at: seconds(100)) == nil, "there was no look yet")
        liveness.note(stuck: [], at: seconds(100))
        for look in 1...3 {
            liveness.note(stuck: ["in/0"], at: seconds(100 + 2.5 * Double(look)))
        }
        #expect(liveness.obstacle(at: seconds(109.9)) == nil)
        #expect(
            liveness.obstacle(at: seconds(111)) == "worker in/0 has made no progress for 11 s")
        liveness.note(stuck: ["in/0", "in/1"], at: seconds(112))
        #expect(liveness.obstacle(at: seconds(112))?.contains("in/0") == true)
        liveness.note(stuck: ["in/1"], at: seconds(113))
        #expect(liveness.obstacle(at: seconds(113)) == nil, "in/1 hangs since 110 s")
        liveness.note(stuck: [], at: seconds(114))
        #expect(liveness.obstacle(at: seconds(115)) == nil)
    }

    @Test("ends when the data planes do not answer for half a minute")
    func noLook() {
        let liveness = Liveness()
        liveness.note(stuck: [], at: 0)
        #expect(liveness.obstacle(at: seconds(29)) == nil)
        #expect(liveness.obstacle(at: seconds(31))?.contains("have not answered") == true)
        liveness.end()
        #expect(liveness.obstacle(at: seconds(99)) == nil)
    }
}
