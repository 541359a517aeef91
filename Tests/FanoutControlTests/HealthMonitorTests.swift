// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Logging
import Synchronization
import Testing
import Tiers

/// A probe that sends nothing: the test sets the results.
final class FakeProbe: HealthProbe {
    private struct State {
        var plans: [ProbePlan] = []
        var report: (@Sendable ([ProbeReport]) -> Void)?
        var error: HealthError?
    }

    private let state = Mutex(State())

    var plans: [ProbePlan] { state.withLock { $0.plans } }
    var isStopped: Bool { state.withLock { $0.report == nil } }

    func follow(
        _ plan: ProbePlan, report: @escaping @Sendable ([ProbeReport]) -> Void
    ) throws(HealthError) {
        try state.withLock { state throws(HealthError) in
            if let error = state.error { throw error }
            state.plans.append(plan)
            state.report = report
        }
    }

    func stop() { state.withLock { $0.report = nil } }

    func fail(_ error: HealthError) { state.withLock { $0.error = error } }

    func tell(_ result: ProbeResult, of target: ProbeTarget, times: Int = 1) {
        let report = state.withLock { $0.report }
        report?(Array(repeating: ProbeReport(target, result), count: times))
    }
}

@Suite("The health monitor", .tags(.network))
struct HealthMonitorTests {
    private let probe = FakeProbe()
    private let plane = FakePlane<First>()
    private let lines = LogRecorder()
    private let policy = HealthPolicy()
    private var checks: HealthChecks { HealthChecks(active: policy) }

    private func state(_ count: UInt16 = 2, _ mode: ForwardingMode = .userspace) -> DesiredState {
        let address = IPAddress(v4: 0x0a00_0000)
        return DesiredState(listeners: [
            Listener(
                name: "in", bind: Endpoint(address, port: 514), mode: mode,
                downstreams: (1...count).map {
                    Downstream(
                        name: "d\($0)",
                        endpoint: Endpoint(IPAddress(v4: 0x0a00_0000 + UInt32($0)), port: 9))
                })
        ])
    }

    private func ready() async -> [String] {
        await plane.listeners["in"]?.downstreams.filter(\.isReady).map(\.name) ?? []
    }

    private func target(_ number: Int) -> ProbeTarget {
        policy.target(of: state().listeners[0].downstreams[number - 1].endpoint)
    }

    /// A monitor and a reconciler that follows it, for as long as `body` runs.
    private func following(
        _ failures: [PlaneError?] = [],
        _ body: (HealthMonitor, Reconciler) async throws -> Void
    ) async throws {
        let (logger, signal) = (lines.logger, ChangeSignal())
        let monitor = HealthMonitor(probe: probe, logger: logger, signal: signal)
        let reconciler = Reconciler(
            planes: [plane], health: monitor, signal: signal, logger: logger)
        try await reconciler.apply(state(), health: checks)
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        try await body(monitor, reconciler)
    }

    @Test("refusals disable a downstream without probes; it is tried again each interval")
    func refusals() async throws {
        try await following { monitor, reconciler in
            var policy = policy
            policy.interval = .seconds(1)
            try await reconciler.apply(state(), health: HealthChecks(passive: policy))
            var counters = ListenerCounters(listener: "in", mode: .userspace)
            counters.downstreams = state().listeners[0].downstreams.map(DownstreamCounters.init)
            var time = ContinuousClock.now
            var suspects: Set<Endpoint> = await monitor.note([counters], at: time)
            for _ in 0..<3 {
                #expect(suspects == [])
                for index in 0...1 { counters.downstreams[index].packetsForwarded += 5 }
                counters.downstreams[0].refusals += 1
                time += .seconds(1)
                suspects = await monitor.note([counters], at: time)
            }
            #expect(suspects == [counters.downstreams[0].endpoint])
            try await until { await ready() == ["d2"] }
            #expect(await monitor.report.healthStatuses[counters.downstreams[0].endpoint] == false)
            let line = lines.lines.first { $0.message == "downstream marked unhealthy, disabling" }
            #expect(line?.fields["probe"] == "passive" && line?.fields["result"] == "refused")
            // A reload without the key enables it again.
            try await reconciler.apply(state())
            #expect(await ready() == ["d1", "d2"])
        }
    }

    @Test("three failures disable a downstream and one success enables it; the log says so")
    func disables() async throws {
        try await following { monitor, _ in
            probe.tell(.timeout, of: target(1), times: 2)
            probe.tell(.success, of: target(2))
            try await until { lines.count("downstream is healthy") == 1 }
            #expect(await ready() == ["d1", "d2"])
            probe.tell(.refused, of: target(1))
            try await until { await ready() == ["d2"] }
            let line = lines.lines.first { $0.message == "downstream marked unhealthy, disabling" }
            #expect(line?.level == .warning)
            #expect(line?.fields["downstream"] == "d1" && line?.fields["listener"] == "in")
            #expect(line?.fields["result"] == "refused")
            probe.tell(.success, of: target(1))
            try await until { await ready() == ["d1", "d2"] }
            #expect(lines.count("downstream is healthy") == 2)
            #expect(await monitor.report.probes == [.timeout: 2, .refused: 1, .success: 2])
        }
    }

    @Test("a new configuration keeps unhealthy receivers out")
    func reload() async throws {
        try await following { monitor, reconciler in
            probe.tell(.timeout, of: target(1), times: 3)
            try await until { await ready() == ["d2"] }
            try await reconciler.apply(state(3), health: checks)
            #expect(await ready() == ["d2", "d3"])
            #expect(probe.plans.last?.targets.count == 3)
            try await reconciler.apply(state(3))
            #expect(await ready() == ["d1", "d2", "d3"])
            #expect(probe.isStopped)
        }
    }

    @Test("a failed plane is asked again when the next results come")
    func retries() async throws {
        try await following { _, reconciler in
            await plane.failNext(
                PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-"))
            probe.tell(.timeout, of: target(1), times: 3)
            try await until { await plane.changes.count == 2 }
            #expect(await ready() == ["d1", "d2"])
            probe.tell(.success, of: target(2))
            try await until { await ready() == ["d2"] }
        }
    }

    @Test("a change that was applied in another way is undone, even if no status changed")
    func backAgain() async throws {
        try await following { _, reconciler in
            await plane.failNext(
                PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-"))
            probe.tell(.timeout, of: target(1), times: 3)
            try await until { await plane.failures.isEmpty }
            // As a reload does, before more results come.
            try await reconciler.apply(state(), health: checks)
            #expect(await ready() == ["d2"])
            probe.tell(.success, of: target(1))
            try await until { await ready() == ["d1", "d2"] }
        }
    }

    @Test("many status changes at once make few changes")
    func coalesces() async throws {
        try await following { monitor, reconciler in
            let many = state(200)
            try await reconciler.apply(many, health: checks)
            let before = await plane.changes.count
            for downstream in many.listeners[0].downstreams {
                probe.tell(.timeout, of: policy.target(of: downstream.endpoint), times: 3)
            }
            try await until { await ready() == [] }
            #expect(await plane.changes.count - before <= 20)
        }
    }

    @Test("after stop no result brings a receiver back")
    func stopped() async throws {
        try await following { monitor, reconciler in
            _ = await reconciler.stop()
            probe.tell(.timeout, of: target(1), times: 3)
            try await until { lines.count("downstream marked unhealthy, disabling") == 1 }
            try await Task.sleep(for: .milliseconds(100))
            #expect(await plane.listeners.isEmpty)
        }
    }

    @Test("probes that cannot start change nothing")
    func refused() async throws {
        try await following { monitor, reconciler in
            let error = HealthError(
                operation: "open", subject: "x", code: 1, reason: "EPERM", remedy: "-")
            probe.fail(error)
            await #expect(throws: error) { try await reconciler.apply(state(3), health: checks) }
            probe.tell(.timeout, of: target(1), times: 3)
            try await until { await ready() == ["d2"] }
            #expect(await monitor.report.healthStatuses.count == 2)
        }
    }

    @Test("probes avoid the ports of kernel-mode listeners, which have no socket")
    func avoidedPorts() async throws {
        let monitor = HealthMonitor(probe: probe, logger: lines.logger)
        try await monitor.follow(checks, state(1, .tcEBPF))
        #expect(probe.plans.last?.avoidedPorts == [514])
        try await monitor.follow(checks, state(1))
        #expect(probe.plans.last?.avoidedPorts == [])
    }

    @Test("with too few healthy receivers all are used; the log reports start and end")
    func failOpen() async throws {
        try await following { monitor, reconciler in
            var policy = policy
            policy.minHealthyPercent = 60
            try await reconciler.apply(state(), health: HealthChecks(active: policy))
            probe.tell(.timeout, of: target(1), times: 3)
            try await until { lines.count("too few downstreams are healthy, all are used") == 1 }
            #expect(await ready() == ["d1", "d2"])
            probe.tell(.success, of: target(1))
            try await until {
                lines.count("enough downstreams are healthy, the others are not used") == 1
            }
        }
    }
}
