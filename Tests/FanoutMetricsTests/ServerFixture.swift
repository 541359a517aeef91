// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Foundation
import Logging

/// Limits so generous that no test passes because one ran out.
let patient: MetricsServer.Limits = {
    var limits = MetricsServer.Limits()
    limits.requestTime = .seconds(60)
    limits.idleTime = .seconds(60)
    limits.answerTime = .seconds(60)
    limits.stallTime = .seconds(60)
    limits.lingerTime = .seconds(60)
    limits.stopTime = .seconds(60)
    return limits
}()

extension Endpoint {
    /// 127.0.0.1 and a port.
    static func loopback(_ port: UInt16) -> Endpoint {
        Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
    }
}

/// Runs a server on a port of the kernel's choice; `clients` runs where it may block.
func withServer<Value: Sendable>(
    _ limits: MetricsServer.Limits = patient, path: String = "/metrics", names: [String] = [],
    liveness: @escaping @Sendable () -> String? = { nil },
    readiness: @escaping @Sendable () async -> String? = { nil },
    snapshot: @escaping @Sendable () async -> DaemonSnapshot = { .of([.sample("one")]) },
    clients: @escaping @Sendable (UInt16) throws -> Value
) async throws -> Value {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = try await MetricsServer.start(
        bind: .loopback(0), path: path, names: names, logger: logger, limits: limits,
        liveness: liveness,
        readiness: readiness, snapshot: snapshot)
    let port = server.boundEndpoint.port
    do {
        let value = try await blocking { try clients(port) }
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// A door that snapshots wait at, and a count of those that have come to it.
final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var arrivals = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isOpen = false

    /// Waits, without holding a thread, until the door is opened.
    func pass() async {
        await withCheckedContinuation { continuation in
            let open = condition.withLock {
                arrivals += 1
                condition.broadcast()
                if !isOpen { waiting.append(continuation) }
                return isOpen
            }
            if open { continuation.resume() }
        }
    }

    func open() {
        let released = condition.withLock {
            isOpen = true
            defer { waiting = [] }
            return waiting
        }
        for continuation in released { continuation.resume() }
    }

    /// Blocks until so many have come; false after 20 seconds.
    func waitForArrivals(_ count: Int) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while arrivals < count, condition.wait(until: deadline) {}
            return arrivals >= count
        }
    }

    var arrived: Int { condition.withLock { arrivals } }
}
