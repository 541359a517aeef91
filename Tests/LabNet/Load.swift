// SPDX-License-Identifier: Apache-2.0

import LinuxNet
import Synchronization

/// The result of a load.
public struct LoadReport: Equatable, Sendable {
    /// Datagrams that the kernel accepted, by flow; their sequence numbers count up from 0.
    public var sent: [UInt32: UInt64] = [:]
    public var datagrams: UInt64 = 0
    public var bytes: UInt64 = 0
    /// Replies of the destination that no socket listens (ECONNREFUSED).
    public var refusals: UInt64 = 0
    /// Sends that failed for another reason: errno to count. Their datagrams were sent again.
    public var errors: [Int32: UInt64] = [:]
    public var elapsed: Duration = .zero
    /// When the datagrams of each flow were sent, in order; empty unless the load keeps times.
    public var bursts: [UInt32: [Burst]] = [:]

    public init(sent: [UInt32: UInt64] = [:]) { self.sent = sent }

    /// Datagrams a second over the whole time.
    public var rate: Double {
        let seconds =
            Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        return seconds > 0 ? Double(datagrams) / seconds : 0
    }
}

/// Stamped datagrams at a steady pace from one or more sources. A thread sends them as soon as the load is created.
public final class Load: Sendable {
    private static let nextFlow = Atomic<UInt32>(1)

    private let outcome: Outcome
    private let thread: Mutex<Thread?>

    /// - Parameters:
    ///   - sources: used in rotation, a few datagrams each.
    ///   - flows: sequences of each source.
    ///   - sharing: the number of consecutive sources that share one set of sequences.
    ///   - rate: datagrams a second, all sources together.
    ///   - total: datagrams after which it ends; nil: no limit.
    ///   - duration: time after which it ends; nil: until `stop`.
    ///   - sizes: bytes, 24...65507, used in rotation.
    ///   - segments: datagrams in one super-packet, all of one size; 1 sends them singly.
    ///   - keepsTimes: whether the report says when each was sent.
    public init(
        _ sources: [Traffic], flows: Int = 1, sharing: Int = 1, rate: Int, total: UInt64? = nil,
        duration: Duration? = nil, sizes: [Int] = [64], segments: Int = 1,
        keepsTimes: Bool = false
    ) throws {
        let count = UInt32(sources.count / sharing * flows)
        let first = Self.nextFlow.add(count, ordering: .relaxed).oldValue
        outcome = Outcome()
        let plan = LoadSender.Plan(
            sources: sources, firstFlow: first, flows: flows, sharing: sharing, rate: rate,
            total: total, duration: duration, sizes: sizes, segments: segments,
            keepsTimes: keepsTimes)
        let outcome = outcome
        thread = Mutex(try Thread(name: "load") { LoadSender(plan, outcome).run() })
    }

    deinit {
        outcome.end()
        thread.withLock { $0.take() }?.join()
    }

    /// Datagrams sent so far.
    public var sent: UInt64 { outcome.progress.load(ordering: .relaxed) }

    /// Ends the load and returns what it sent.
    public func stop() async -> LoadReport {
        outcome.end()
        return await finish()
    }

    /// Waits for the end of the load by its limits.
    public func finish() async -> LoadReport {
        let report = await outcome.report()
        thread.withLock { $0.take() }?.join()
        return report
    }

    /// The state that the thread shares with the owner.
    final class Outcome: Sendable {
        let progress = Atomic<UInt64>(0)
        private let ending = Atomic(false)
        private let result = Mutex<Result>(.waiting([]))

        private enum Result: Sendable {
            case waiting([CheckedContinuation<LoadReport, Never>])
            case done(LoadReport)
        }

        func end() { ending.store(true, ordering: .releasing) }

        var isEnding: Bool { ending.load(ordering: .acquiring) }

        func finish(_ report: LoadReport) {
            let waiting = result.withLock { result in
                defer { result = .done(report) }
                if case .waiting(let list) = result { return list }
                return []
            }
            for continuation in waiting { continuation.resume(returning: report) }
        }

        func report() async -> LoadReport {
            await withCheckedContinuation { continuation in
                let known: LoadReport? = result.withLock { result in
                    switch result {
                    case .done(let report): return report
                    case .waiting(let list):
                        result = .waiting(list + [continuation])
                        return nil
                    }
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }
}
