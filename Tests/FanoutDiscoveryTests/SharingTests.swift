// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutControl
import FanoutCore
import LabNet
import Synchronization
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    @Suite("Many who follow one cluster")
    struct SharingTests {}
}

extension DiscoveryTests.SharingTests {
    private func state(_ listeners: [(service: String, port: ReceiverPort)]) -> DesiredState {
        DesiredState(
            listeners: listeners.enumerated().map { index, wish in
                Listener(
                    name: "l\(index)",
                    bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 1000 + UInt16(index)),
                    downstreams: [], settings: ListenerSettings(maxDownstream: 1024),
                    discovery: ListenerDiscovery(
                        receivers: .endpointSlices(.init(namespace: nil, service: wish.service)),
                        port: wish.port))
            })
    }

    private func slice(_ name: String, _ addresses: [String], of service: String = "s") -> Slice {
        Slice(
            name, of: service, addresses.map { Slice.Endpoint($0) },
            ports: [Slice.Port(9000, name: "data"), Slice.Port(9001, name: "more")])
    }

    /// Runs a monitor over the cluster's sources and a reconciler; `states` gets each state that is applied.
    private func following(
        _ stage: ClusterStage, _ state: DesiredState,
        _ body: (DiscoveryMonitor, @escaping @Sendable () -> [DesiredState]) async throws -> Void
    ) async throws {
        let sources = try stage.sources(timing: WatchTiming(pageSize: 500))
        let signal = ChangeSignal()
        let monitor = DiscoveryMonitor(logger: stage.log.logger, signal: signal) {
            sources.source(for: $0, lastKnown: $1)
        }
        let plane = RecordingPlane()
        let reconciler = Reconciler(
            planes: [plane], discovery: monitor, signal: signal, logger: stage.log.logger)
        await monitor.follow([state])
        try await reconciler.apply(state)
        let task = Task { await reconciler.run() }
        try await body(monitor) { plane.states.all }
        task.cancel()
        await monitor.stop(keeps: true)
    }

    private final class States: Sendable {
        private let list = Mutex<[DesiredState]>([])
        var all: [DesiredState] { list.withLock { $0 } }
        func add(_ state: DesiredState) { list.withLock { $0.append(state) } }
    }

    private actor RecordingPlane: DataPlane {
        static let mode = ForwardingMode.userspace
        nonisolated let states = States()
        private var listeners: [Listener] = []

        func apply(_ change: Change) {
            listeners = change.applied(to: listeners)
            states.add(DesiredState(listeners: listeners))
        }

        func counters() -> [ListenerCounters] { [] }
        func attachments() -> [FanoutCore.Attachment] { [] }
        func progress() -> [WorkerProgress] { [] }
        func relinquish() {}
        func reclaim() {}
        func stop() -> [ListenerCounters] { [] }
    }

    @Test("one watch serves all listeners of a service, whatever their ports")
    func shared() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice("s-1", ["10.0.0.1"]))
        let wanted = state([
            ("s", .name("data")), ("s", .name("more")), ("s", .number(9001)), ("s", .number(7)),
        ])
        try await following(stage, wanted) { _, states in
            try await eventually("all are served") {
                states().last?.listeners.map { $0.downstreams.map(\.endpoint.port) } == [
                    [9000], [9001], [9001], [],
                ]
            }
            try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
            #expect(stage.cluster.requests.count == 2)
        }
    }

    @Test("forty services are watched at the same time")
    func many() async throws {
        let stage = try ClusterStage()
        for number in 0..<40 {
            try stage.cluster.put(slice("x-\(number)", ["10.0.0.\(number + 1)"], of: "x\(number)"))
        }
        let wanted = state((0..<40).map { ("x\($0)", .number(9000)) })
        try await following(stage, wanted) { _, states in
            try await eventually("all are watched") { stage.cluster.openWatches == 40 }
            try await eventually("all have their receiver") {
                states().last?.listeners.allSatisfy { $0.downstreams.count == 1 } == true
            }
        }
    }

    @Test("a hundred changes a second are gathered, and the last one counts")
    func coalesced() async throws {
        let stage = try ClusterStage()
        try await following(stage, state([("s", .number(9000))])) { monitor, states in
            try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
            for number in 1...200 {
                try stage.cluster.put(slice("s-1", ["10.0.0.\(number)"]))
                try await Task.sleep(for: .milliseconds(5))
            }
            try await eventually("the last is active") {
                states().last?.listeners[0].downstreams.map { "\($0.endpoint.address)" } == [
                    "10.0.0.200"
                ]
            }
            #expect(states().count < 150, "\(states().count)")
            #expect(stage.cluster.listRequests.count == 1)
        }
    }

    @Test("a change of 1 000 endpoints, in ten slices, reaches the desired state in little time")
    func thousand() async throws {
        let stage = try ClusterStage()
        try await following(stage, state([("s", .number(9000))])) { monitor, states in
            try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
            var times: [Duration] = []
            for round in 0..<5 {
                try await Task.sleep(for: .milliseconds(60))
                let slices = (0..<10).map { part in
                    slice("s-\(part)", (0..<100).map { "10.\(round).\(part).\($0 + 1)" })
                }
                let begin = ContinuousClock.now
                for slice in slices { try stage.cluster.put(slice) }
                try await eventually("the last of them is active") {
                    states().last?.listeners[0].downstreams.allSatisfy {
                        "\($0.endpoint.address)".hasPrefix("10.\(round).")
                    } == true && states().last?.listeners[0].downstreams.count == 1000
                }
                times.append(.now - begin)
            }
            print("1 000 endpoints: \(times)")
            #if DEBUG
                let limit = Duration.seconds(1)
            #else
                let limit = Duration.milliseconds(100)
            #endif
            #expect(times.sorted()[0] < limit, "\(times)")
        }
    }
}
