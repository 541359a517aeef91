// SPDX-License-Identifier: Apache-2.0

internal import FanoutControl
internal import FanoutCore
internal import LinuxNet
internal import Synchronization
internal import UserspacePlane

/// The daemon whose place this process takes, by a connection to its control socket. When that ends before
/// the takeover does, the daemon goes on; unless it was the daemon that ended: then its sockets are ours
/// alone, and its programs are found where a killed one leaves them.
final class OldProcess: Sendable {
    let report: TakeoverReport
    private let client: ControlClient
    private let process: ProcessWatch?
    private let ended = Atomic(false)

    /// Whether it did not answer in time; it is asked for nothing more then.
    private let isSilent = Atomic(false)

    /// How long a daemon that answers no more may take to end.
    private static let patience = Duration.seconds(2)
    /// How long a daemon is asked again that starts, ends, or is being taken over already.
    private static let patienceAtStart = Duration.seconds(15)

    /// Asks the daemon at `path` for its sockets.
    ///
    /// - Returns: nil when none listens there, or the one that did has ended.
    static func find(
        at path: String
    ) throws(ControlFailure) -> (OldProcess, sockets: [(descriptor: Int32, isSteered: Bool)])? {
        let end = ContinuousClock.now + patienceAtStart
        while true {
            guard let client = try ControlClient.ifPresent(at: path) else { return nil }
            do throws(ControlFailure) {
                let (report, sockets) = try client.beginTakeover()
                let pairs = zip(sockets, report.sockets).map { (descriptor: $0, isSteered: $1) }
                return (OldProcess(client, report), pairs)
            } catch {
                guard error.mayRetry == true, .now < end else { throw error }
                Pause.milliseconds(20)
            }
        }
    }

    private init(_ client: ControlClient, _ report: TakeoverReport) {
        self.client = client
        self.report = report
        process = client.process.flatMap(ProcessWatch.init)
    }

    /// Whether it was found to have ended by itself.
    var hasEnded: Bool { ended.load(ordering: .relaxed) }

    /// Has it let go of hooks, queues and the metrics port.
    func release() throws(ControlFailure) { try carryOut(.release) }

    /// Has it read no more.
    func switchOver() throws(PlaneError) {
        do throws(ControlFailure) {
            try carryOut(.switch)
        } catch {
            throw PlaneError(
                operation: "take over from", subject: "process \(report.pid)",
                reason: error.message, remedy: error.remedy)
        }
    }

    /// Has it end.
    ///
    /// - Returns: whether it is about to. One that hangs or is stopped has the request before it: it serves
    ///   no more, and ends as soon as it goes on.
    func finish(unused: [Endpoint]) throws(ControlFailure) -> Bool {
        do throws(ControlFailure) {
            try carryOut(.finish, unused: unused.map(\.description))
            return true
        } catch {
            guard error.isTimeout else { throw error }
            return false
        }
    }

    /// Leaves everything to it. When this returns it has taken everything back; its answer may get lost,
    /// since it opens its control socket anew.
    func giveUp() {
        try? carryOut(.abandon)
        client.end()
    }

    private func carryOut(
        _ step: ControlRequest.TakeoverStep, unused: [String]? = nil
    ) throws(ControlFailure) {
        var request = ControlRequest(.takeover)
        request.step = step
        request.unused = unused
        if hasEnded || isSilent.load(ordering: .relaxed) { return }
        let response: ControlResponse
        do throws(ControlFailure) {
            response = try client.ask(request)
        } catch {
            isSilent.store(error.isTimeout, ordering: .relaxed)
            guard let process, process.hasEnded(within: Self.patience) else { throw error }
            ended.store(true, ordering: .relaxed)
            return
        }
        if let error = response.error { throw error }
    }
}
