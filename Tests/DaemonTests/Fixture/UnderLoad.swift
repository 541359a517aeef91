// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

/// The outcome of a load through a daemon; every datagram is tracked by its number.
struct LoadOutcome {
    let delivery: Delivery
    /// The last page before the end, when the configuration has metrics.
    let page: MetricsPage?
    /// The daemon's totals for the listener under load, from its log.
    let totals: [String: String]

    /// Missing datagrams, without those lost in overflows of the sinks' or the listener's socket buffers, which the
    /// test machine causes.
    var lost: Int {
        let atListener = Int(totals["kernel_drops"] ?? "") ?? 0
        return Int(delivery.lost) - Int(delivery.droppedAtSinks) - atListener
    }

    /// Expects that every datagram arrived once and intact.
    func expectNoLoss(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(lost == 0, "\(delivery) \(totals)", sourceLocation: sourceLocation)
        #expect(delivery.sent > 0, sourceLocation: sourceLocation)
        #expect(delivery.duplicates == 0, "\(delivery)", sourceLocation: sourceLocation)
        #expect(delivery.damaged == 0, "\(delivery)", sourceLocation: sourceLocation)
    }
}

extension Load {
    /// Waits until `count` more datagrams have been sent.
    func pass(_ count: UInt64) async throws {
        let goal = sent + count
        try await eventually("\(count) more datagrams are sent") { self.sent >= goal }
    }
}

/// Sinks that record the datagrams by number.
func tallyingSinks(_ count: Int) throws -> [Sink] {
    try (0..<count).map { _ in try Sink(keepsPayloads: false) }
}

extension Sequence<Sink> {
    var ports: [UInt16] { map(\.endpoint.port) }
    var arrivals: UInt64 { map(\.arrivals).reduce(0, +) }
}

extension DaemonUnderTest {
    static let rate = 20_000

    /// Runs a daemon with traffic from 16 sources to its first listener during `body`, waits until the datagrams
    /// have arrived, and ends the daemon in order.
    static func underLoad(
        _ config: ConfigText, sinks: [Sink], isolation: isolated (any Actor)? = #isolation,
        _ body: (DaemonUnderTest, Load) async throws -> Void
    ) async throws -> LoadOutcome {
        try await running(config.yaml) { daemon in
            let target = Endpoint(.loopback, port: config.listeners[0].port)
            let sources = try (0..<16).map { _ in try Traffic(to: target) }
            let load = try Load(sources, rate: rate)
            try await load.pass(500)
            try await body(daemon, load)
            try await load.pass(500)
            let report = await load.stop()
            // A lost datagram never arrives; the numbers below then show which one it was.
            try? await eventually(within: .seconds(3), "all arrived") {
                sinks.arrivals >= report.datagrams
            }
            var page: MetricsPage?
            if let port = config.metricsPort { page = try await MetricsPage.scrape(port) }
            try await daemon.stop()
            let totals = daemon.log.last {
                $0.message == "listener totals" && $0.fields["listener"] == "in"
            }
            return LoadOutcome(
                delivery: Delivery(of: report, at: sinks), page: page,
                totals: totals?.fields ?? [:])
        }
    }

    /// Applies another file at once, by rename and SIGHUP.
    func swap(_ config: ConfigText) async throws {
        let before = times(Self.reloaded)
        try folder.replace(Self.configName, with: config.yaml)
        process.send(SIGHUP)
        try await logs(Self.reloaded, times: before + 1)
    }

    /// Replaces the file by an invalid one, and waits until the daemon has refused it.
    func refuse(_ config: ConfigText) async throws {
        let before = times(Self.notReloaded)
        try folder.replace(Self.configName, with: config.yaml)
        process.send(SIGHUP)
        try await logs(Self.notReloaded, times: before + 1)
    }
}
