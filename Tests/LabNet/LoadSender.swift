// SPDX-License-Identifier: Apache-2.0

import CNet
import Glibc
import LinuxNet

/// The loop of a load's thread.
struct LoadSender {
    struct Plan: Sendable {
        let sources: [Traffic]
        let firstFlow: UInt32
        let flows: Int
        let sharing: Int
        let rate: Int
        let total: UInt64?
        let duration: Duration?
        let sizes: [Int]
        let segments: Int
        let keepsTimes: Bool
    }

    /// Datagrams in one call; a burst that fits into a receiver's default buffer.
    private static let burst = 16

    private let plan: Plan
    private let outcome: Load.Outcome
    private var report = LoadReport()
    private var sequences: [UInt64]
    private var turn = 0

    init(_ plan: Plan, _ outcome: Load.Outcome) {
        self.plan = plan
        self.outcome = outcome
        sequences = Array(repeating: 0, count: plan.sources.count / plan.sharing * plan.flows)
    }

    consuming func run() {
        let start = ContinuousClock.now
        let each = Self.burst * plan.segments
        let longest = plan.sizes.max()! * plan.segments
        let batch = DatagramBatch(messages: Self.burst, room: longest)
        // After an interruption it catches up, but by at most 20 ms at once.
        var due = start
        let interval = Duration.seconds(1) * each / plan.rate
        while !outcome.isEnding {
            if let total = plan.total, report.datagrams >= total { break }
            let now = ContinuousClock.now
            if let duration = plan.duration, now - start >= duration { break }
            if now < due {
                let wait = (due - now).components.attoseconds / 1_000_000_000_000
                cnet_pause(UInt32(clamping: min(wait, 2000)))
                continue
            }
            due = max(due, now - .milliseconds(20)) + interval
            sendBurst(batch)
            outcome.progress.store(report.datagrams, ordering: .relaxed)
        }
        report.elapsed = ContinuousClock.now - start
        for (index, count) in sequences.enumerated() {
            report.sent[plan.firstFlow + UInt32(index)] = count
        }
        batch.free()
        outcome.finish(report)
    }

    /// One burst from one source. In a super-packet all datagrams belong to one flow and have one size, as in real
    /// traffic.
    private mutating func sendBurst(_ batch: DatagramBatch) {
        let source = turn % plan.sources.count
        let round = turn / plan.sources.count
        turn += 1
        if plan.keepsTimes { noteBursts(source) }
        var sizes = [Int](repeating: 0, count: Self.burst)
        for index in 0..<Self.burst {
            let flow =
                source / plan.sharing * plan.flows + (round * Self.burst + index) % plan.flows
            let size = plan.sizes[(round * Self.burst + index) % plan.sizes.count]
            for segment in 0..<plan.segments {
                Stamp(flow: plan.firstFlow + UInt32(flow), sequence: sequences[flow])
                    .write(into: batch.payload(index) + segment * size, size: size)
                sequences[flow] += 1
            }
            sizes[index] = size * plan.segments
            batch.prepareToSend(
                index, size: sizes[index], segment: plan.segments > 1 ? size : nil)
        }
        send(batch, sizes, on: plan.sources[source])
    }

    private mutating func noteBursts(_ source: Int) {
        let now = ContinuousClock.now
        let first = source / plan.sharing * plan.flows
        for flow in first..<first + plan.flows {
            let number = plan.firstFlow + UInt32(flow)
            report.bursts[number, default: []].append(
                Burst(flow: number, sequence: sequences[flow], sent: now))
        }
    }

    /// Retries a refused datagram for a while; after that it is missing at the receivers.
    private mutating func send(_ batch: DatagramBatch, _ sizes: [Int], on source: Traffic) {
        var next = 0
        var failures = 0
        while next < Self.burst {
            let result = cnet_send_batch(
                source.socket.descriptor, batch.messages + next, UInt32(Self.burst - next), 0)
            if result > 0 {
                for index in next..<next + Int(result) {
                    report.datagrams += UInt64(plan.segments)
                    report.bytes += UInt64(sizes[index])
                }
                next += Int(result)
                failures = 0
            } else if failures == 100 {
                next += 1
            } else if result == -ECONNREFUSED {
                report.refusals += 1
                failures += 1
            } else {
                report.errors[-result, default: 0] += 1
                failures += 1
                cnet_pause(100)
            }
        }
    }
}
