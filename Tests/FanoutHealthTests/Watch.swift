// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutControl
import LabNet
import Synchronization

/// A probe at work, and what it reports.
final class Watch: Sendable {
    let probe = SocketProbe()
    private let seen = Mutex<[ProbeReport]>([])

    deinit { probe.stop() }

    var reports: [ProbeReport] { seen.withLock { $0 } }

    func results(of target: ProbeTarget) -> [ProbeResult] {
        reports.filter { $0.target == target }.map(\.result)
    }

    func follow(
        _ targets: [ProbeTarget], interval: Duration = .milliseconds(300),
        timeout: Duration = .milliseconds(200), payload: ProbePayload = .usual,
        avoiding ports: Set<UInt16> = []
    ) throws {
        let plan = ProbePlan(
            targets: Set(targets), interval: interval, timeout: timeout, payload: payload,
            avoidedPorts: ports)
        try probe.follow(plan) { [weak self] reports in self?.seen.withLock { $0 += reports } }
    }

    /// Waits for the `count`th result of a target from now on.
    func next(_ target: ProbeTarget, after count: Int = 0) async throws -> ProbeResult {
        let before = results(of: target).count
        try await eventually("a probe of \(target.endpoint) is over") {
            results(of: target).count > before + count
        }
        return results(of: target)[before + count]
    }
}

extension ProbeTarget {
    init(_ kind: ProbeKind, _ endpoint: Endpoint) {
        self.init(
            kind: kind,
            endpoint: Endpoint(endpoint.address, port: kind.hasPort ? endpoint.port : 0))
    }
}
