// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Synchronization

/// A run from its first socket to its report: a thread for each worker, one that waits for signals, and the caller's,
/// which shows progress.
final class Session: Sendable {
    private let plan: Plan
    private let commentary: Commentary?
    private let accounts: [Accounting]
    private let outlets: [[Outlet]]
    private let stop = Stop()
    /// Opens when the last worker is done.
    private let done: Latch

    /// Opens every socket.
    ///
    /// - Parameter stream: where to print progress; nil = nowhere.
    init(_ plan: Plan, commentOn stream: StandardStream?) throws(StartError) {
        let source = try plan.checkedSource()
        var outlets: [[Outlet]] = []
        for number in 0..<plan.workers { outlets.append(try plan.outlets(of: number)) }
        self.plan = plan
        self.outlets = outlets
        commentary = stream.map {
            Commentary(destination: plan.destination, chosenSource: source, stream: $0)
        }
        accounts = (0..<plan.workers).map { _ in Accounting() }
        done = Latch(count: plan.workers)
    }

    /// Sends. SIGINT and SIGTERM must be blocked; the first one ends the run in order, a second one the process.
    func run() throws(StartError) -> Report {
        let start = MonotonicClock.now
        do throws(SystemError) {
            _ = try Thread(name: "signals") { self.hearSignals() }
            for number in 0..<plan.workers {
                let assignment = try assignment(of: number)
                let done = done
                _ = try Thread(name: "worker-\(number)") {
                    var worker = PublisherWorker(assignment)
                    worker.run(from: start)
                    done.countDown()
                }
            }
        } catch {
            throw StartError(description: "start \(plan.workers) workers: \(error); try fewer")
        }
        watch(from: start)
        let nanoseconds = MonotonicClock.now - start
        let totals = totals
        let early = stop.reason.map { Report.Ending.early($0) }
        return Report(
            destination: plan.destination, totals: totals, sources: max(1, plan.sources.count),
            workers: plan.workers, nanoseconds: nanoseconds,
            ending: totals.attempted == plan.pace.total ? .count : early ?? .duration)
    }

    private var totals: Totals { accounts.reduce(into: Totals()) { $0 += $1.totals } }

    private func assignment(of number: Int) throws(SystemError) -> PublisherWorker.Assignment {
        let share = plan.share(of: number)
        return PublisherWorker.Assignment(
            share: share, pace: plan.pace, size: plan.size,
            destination: try plan.destination.native,
            outlets: outlets[number], isConnected: plan.isConnected,
            addresses: plan.sources.isEmpty ? [] : share.sourceIndices.map { plan.sources[$0] },
            accounting: accounts[number], stop: stop,
            commentary: plan.pace.isSlow ? commentary : nil)
    }

    private func hearSignals() {
        stop.request(.signal(TerminationSignal.wait()))
        ThisProcess.exitNow(TerminationSignal.wait().exitCode)
    }

    /// Waits for the end, and shows progress once a second.
    private func watch(from start: Int64) {
        guard let commentary, !plan.pace.isSlow else {
            done.wait()
            return
        }
        var second: Int64 = 1
        var before: (sent: UInt64, time: Int64) = (0, start)
        while !done.wait(until: start + second * 1_000_000_000) {
            let (now, totals) = (MonotonicClock.now, totals)
            let recent = Double(totals.sent - before.sent) / Double(now - before.time) * 1e9
            let seconds = (now - start) / 1_000_000_000
            if !commentary.progress(totals, seconds: Int(seconds), recent: recent) {
                stop.request(.closed)
            }
            before = (totals.sent, now)
            second = seconds + 1
        }
        if second > 1 { commentary.clear() }
    }
}

/// The early end of a run, by a signal or by output without a reader; all workers check it.
final class Stop: Sendable {
    enum Reason: Equatable, Sendable {
        case signal(TerminationSignal)
        /// The output has lost its reader.
        case closed
    }

    private let latch = Latch()
    private let first = Mutex<Reason?>(nil)

    /// The first reason; nil: the run continues.
    var reason: Reason? { first.withLock { $0 } }

    var isRequested: Bool { latch.isOpen }

    func request(_ reason: Reason) {
        first.withLock { $0 = $0 ?? reason }
        latch.countDown()
    }

    /// Waits until a stop is requested or `MonotonicClock` shows `deadline`, nanoseconds.
    func wait(until deadline: Int64) { latch.wait(until: deadline) }
}

/// The validated parameters of a run.
struct Plan: Sendable {
    let destination: Endpoint
    let pace: Pace
    /// Bytes of each payload; nil = as long as the text is.
    let size: Int?
    /// The source addresses, used round robin; empty = the kernel's choice.
    let sources: [IPAddress]
    /// 1 or more, and at most as many as sources, if there are any.
    let workers: Int
    /// Whether each source has a connected socket of its own.
    let isConnected: Bool

    static let connectedMost = 1024

    /// The number of addresses, or of the workers' sockets, that are used round robin.
    var turns: Int { sources.isEmpty ? workers : sources.count }

    func share(of worker: Int) -> Share { Share(sources: turns, workers: workers, worker: worker) }
}
