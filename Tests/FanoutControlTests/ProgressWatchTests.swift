// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Testing
import Tiers

@Suite("The watch over workers", .tags(.network))
struct ProgressWatchTests {
    private func worker(_ epoch: UInt64, _ hasWork: Bool) -> [WorkerProgress] {
        [WorkerProgress(worker: "in/0", epoch: epoch, hasWork: hasWork)]
    }

    @Test("finds one that has work and has done none since the last look")
    func stuck() {
        var watch = ProgressWatch()
        #expect(watch.note(worker(4, true)) == [], "one look tells nothing")
        #expect(watch.note(worker(4, true)) == ["in/0"])
        #expect(watch.note(worker(4, true)) == ["in/0"])
        #expect(watch.note(worker(6, true)) == [])
    }

    @Test("leaves one alone that waits, or that has just got work")
    func waiting() {
        var watch = ProgressWatch()
        for hasWork in [false, false, true] { #expect(watch.note(worker(4, hasWork)) == []) }
        #expect(watch.note(worker(6, true)) == [])
        #expect(watch.note([]) == [])
        #expect(watch.note(worker(6, true)) == [], "it has been away")
    }
}
