// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Glibc
import LabNet
import Logging
import Synchronization
import Testing

extension DiscoveryMonitorTests {
    @Test("what was found is saved, even if it ends at once")
    func kept() async throws {
        let memory = Memory()
        let (monitor, reconciler) = following()
        await monitor.remember(in: memory)
        await monitor.follow([state(["a": "s"])])
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        try await made.all[0].find(1...3)
        try await until { await monitor.view().sets.count == 1 }
        try await until { memory.counts[subject("s")] == 3 }
        try await made.all[0].find(1...4)
        try await until { await monitor.view().sets[subject("s")]?.endpoints.count == 4 }
        try await Task.sleep(for: .milliseconds(100))
        await monitor.stop(keeps: true)
        #expect(memory.counts == [subject("s"): 4])
    }

    @Test("a start uses what was saved until the source answers; one line reports either case")
    func recalled() async throws {
        let memory = Memory(
            DiscoveryView([
                subject("s"): DiscoveredSet([
                    DiscoveredEndpoint(
                        address: IPAddress(v4: 1), ports: [DiscoveredPort(number: 9000)])
                ])
            ]))
        let given = Mutex<[DiscoverySubject: DiscoveredSet]>([:])
        let monitor = DiscoveryMonitor(logger: lines.logger) { subject, lastKnown in
            given.withLock { $0[subject] = lastKnown }
            return made.make(subject)
        }
        let state = state(["a": "s", "b": "t"])
        await monitor.follow([state], after: memory.recall(state))
        #expect(given.withLock { $0.mapValues(\.endpoints.count) } == [subject("s"): 1])
        await monitor.settle(state, within: .milliseconds(20))
        #expect(await monitor.view().sets.isEmpty, "at a takeover nothing is recalled")
        await monitor.settleStart(state, within: .seconds(60))
        #expect(await monitor.view().sets.mapValues(\.endpoints.count) == [subject("s"): 1])
        let recalled = lines.lines(
            "k8s discovery: no answer yet, the last-known receivers stay active")
        #expect(recalled.map { $0.fields["source"] } == ["endpointslices:n/s"])
        let unknown = lines.lines(
            "k8s discovery: no answer yet, and no receiver is known until there is one")
        #expect(unknown.last?.fields["source"] == "endpointslices:n/t")
        try await made.all[0].find([])
        await monitor.settle(state, within: .milliseconds(20))
        #expect(await monitor.view().sets.mapValues(\.endpoints.count) == [subject("s"): 0])
    }

    @Test("a failed save is reported once, and saves nothing for another process")
    func unkept() async throws {
        let memory = Memory()
        let (monitor, reconciler) = following()
        await monitor.remember(in: memory)
        memory.isFull.store(true, ordering: .relaxed)
        await monitor.follow([state(["a": "s"])])
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        try await made.all[0].find(1...3)
        let warning = "receivers are not saved for the next start"
        try await until { lines.count(warning) == 1 }
        try await made.all[0].find(1...4)
        memory.isFull.store(false, ordering: .relaxed)
        await monitor.stop(keeps: false)
        #expect(memory.counts.isEmpty && lines.count(warning) == 1)
    }

    @Test("a new file gets everything, whatever happens to the old one")
    func moved() async throws {
        let (slow, other) = (Memory(), Memory())
        let (monitor, reconciler) = following()
        await monitor.remember(in: slow)
        await monitor.follow([state(["a": "s"])])
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        slow.isHeld.store(true, ordering: .relaxed)
        try await made.all[0].find(1...3)
        try await until { slow.isBeingWritten.load(ordering: .relaxed) }
        await monitor.remember(in: other)
        slow.isHeld.store(false, ordering: .relaxed)
        try await until { other.counts == [subject("s"): 3] }
        await monitor.stop(keeps: true)
    }

    @Test("a new file is written at once, even if writes to the old one failed")
    func movedAway() async throws {
        let (full, other) = (Memory(), Memory())
        full.isFull.store(true, ordering: .relaxed)
        let (monitor, reconciler) = following()
        await monitor.remember(in: full)
        await monitor.follow([state(["a": "s"])])
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        try await made.all[0].find(1...3)
        try await until { lines.count("receivers are not saved for the next start") == 1 }
        await monitor.remember(in: other)
        try await until { other.counts == [subject("s"): 3] }
        #expect(lines.count("receivers are saved again for the next start") == 0)
        await monitor.stop(keeps: true)
    }
}

/// What one process saves for the next.
final class Memory: DiscoveryMemory {
    private let view: Mutex<DiscoveryView>
    let isFull = Atomic(false)
    /// Whether a write has to wait.
    let isHeld = Atomic(false)
    let isBeingWritten = Atomic(false)

    init(_ view: DiscoveryView = DiscoveryView()) { self.view = Mutex(view) }

    var counts: [DiscoverySubject: Int] {
        view.withLock { $0.sets.mapValues(\.endpoints.count) }
    }

    var lastKnowns: [LastKnown.Place: LastKnown] { view.withLock { $0.lastKnowns } }

    func recall(_ state: DesiredState) -> DiscoveryView {
        let (subjects, places) = (state.subjects, state.lastKnownPlaces)
        return view.withLock { view in
            DiscoveryView(
                view.sets.filter { subjects.contains($0.key) },
                lastKnowns: view.lastKnowns.filter { places.contains($0.key) })
        }
    }

    func keep(_ view: DiscoveryView) throws {
        isBeingWritten.store(true, ordering: .relaxed)
        while isHeld.load(ordering: .relaxed) { sched_yield() }
        if isFull.load(ordering: .relaxed) { throw Full() }
        self.view.withLock { $0 = view }
    }

    private struct Full: Error {}
}
