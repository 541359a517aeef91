// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Logging
import Testing
import Tiers

/// The reconciler's side of a takeover: planes hand over to another process, and take back.
@Suite("A handover", .tags(.network))
struct HandoverTests {
    private let first = FakePlane<First>()
    private let second = FakePlane<Second>()
    private let log = LogRecorder()
    private let trouble = PlaneError(
        operation: "attach", subject: "eth0", reason: "EBUSY", remedy: "-")

    private func reconciler(hasOldProcess: Bool = false) -> Reconciler {
        Reconciler(
            planes: [first, second], hasOldProcess: hasOldProcess, logger: log.logger)
    }

    private func state(_ modes: ForwardingMode...) -> DesiredState {
        DesiredState(
            listeners: modes.map { mode in
                Listener(
                    name: mode.rawValue, bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514),
                    mode: mode, downstreams: [])
            })
    }

    /// Which planes have handed over.
    private var left: [Bool] {
        get async { [await first.isRelinquished, await second.isRelinquished] }
    }

    @Test("concerns the planes of the modes that are asked for")
    func modes() async {
        let reconciler = reconciler()
        await reconciler.relinquish([.tcEBPF])
        #expect(await left == [false, true])
        await reconciler.relinquish([.userspace])
        #expect(await left == [true, true])
        await reconciler.reclaim([.userspace])
        #expect(await left == [false, true])
    }

    @Test("that is undone is undone in the others when one plane cannot; the log names it")
    func reclaim() async throws {
        let reconciler = reconciler()
        await reconciler.relinquish([.userspace, .tcEBPF])
        await first.failNext(trouble)
        await reconciler.reclaim([.userspace, .tcEBPF])
        #expect(await left == [true, false])
        let message = "a plane cannot take back what it had left to another process"
        let line = try #require(log.lines(message).first)
        #expect(log.count(message) == 1)
        #expect(line.level == .error)
        #expect(line.fields == ["mode": "userspace", "error": "\(trouble)"])
    }

    @Test("that fails in the new process is not rolled back: the old process continues")
    func failedStart() async throws {
        let reconciler = reconciler(hasOldProcess: true)
        await second.failNext(trouble)
        await #expect(throws: trouble) {
            try await reconciler.apply(state(.userspace, .tcEBPF))
        }
        #expect(await left == [true, false])
        #expect(await first.changes.count == 1, "nothing is rolled back")
    }

    @Test("once it is done, a failed change is rolled back as usual")
    func laterFailure() async throws {
        let reconciler = reconciler(hasOldProcess: true)
        try await reconciler.apply(state(.userspace))
        await second.failNext(trouble)
        await #expect(throws: trouble) { try await reconciler.apply(state(.tcEBPF)) }
        #expect(await left == [false, false])
        #expect(await first.listeners.keys.sorted() == ["userspace"])
    }
}
