// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// A run from its first socket to its report: a thread for each worker, one that waits for signals, and
/// the caller's, which says how it goes.
final class Session: Sendable {
    private let plan: Plan
    private let commentary: Commentary?
    private let ledgers: [Ledger]
    private let outlets: [[Outlet]]
    private let stop = Stop()
    /// Opens when the last worker is done.
    private let done: Latch

    /// Opens every socket.
    ///
    /// - Parameter stream: what to comment the run on; nil = not at all.
    init(_ plan: Plan, commentOn stream: StandardStream?) throws(StartError) {
        let source = try plan.checkedSource()
        var outlets: [[Outlet]] = []
        for number in 0..<plan.workers { outlets.append(try plan.outlets(of: number)) }
        self.plan = plan
        self.outlets = outlets
        commentary = stream.map {
            Commentary(destination: plan.destination, chosenSource: source, stream: $0)
        }
        ledgers = (0..<plan.workers).map { _ in Ledger() }
        done = Latch(count: plan.workers)
    }

    /// Sends what is to be sent. SIGINT and SIGTERM must be blocked; the first of them ends the run in
    /// order, a second one the process.
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

    private var totals: Totals { ledgers.reduce(into: Totals()) { $0 += $1.totals } }

    private func assignment(of number: Int) throws(SystemError) -> PublisherWorker.Assignment {
        let share = plan.share(of: number)
        return PublisherWorker.Assignment(
            share: share, pace: plan.pace, size: plan.size,
            destination: try plan.destination.native,
            outlets: outlets[number], isConnected: plan.isConnected,
            addresses: plan.sources.isEmpty ? [] : share.sourceIndices.map { plan.sources[$0] },
            ledger: ledgers[number], stop: stop,
            commentary: plan.pace.isSlow ? commentary : nil)
    }

    private func hearSignals() {
        stop.request(.signal(TerminationSignal.wait()))
        ThisProcess.exitNow(TerminationSignal.wait().exitCode)
    }

    /// Waits for the end, and says once a second how far the run has come.
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
