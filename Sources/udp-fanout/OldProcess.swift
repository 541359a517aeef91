// SPDX-License-Identifier: Apache-2.0

internal import FanoutControl
internal import FanoutCore
internal import LinuxNet
internal import Synchronization
internal import UserspacePlane

/// The daemon that this process takes over from, by a connection to its control socket. When the connection ends before
/// the takeover is done, the old daemon continues. If the old daemon itself has ended, its sockets belong to this
/// process, which also finds its programs as after a kill.
final class OldProcess: Sendable {
    let report: TakeoverReport
    private let client: ControlClient
    private let process: ProcessWatch?
    private let ended = Atomic(false)

    /// Whether it did not answer in time; it then gets no more requests.
    private let isSilent = Atomic(false)

    /// Longest wait for the end of a daemon that no longer answers.
    private static let patience = Duration.seconds(2)
    /// How long requests are retried while a daemon starts, ends, or is already being taken over.
    private static let patienceAtStart = Duration.seconds(15)

    /// Asks the daemon at `path` for its sockets.
    ///
    /// - Returns: nil when no daemon listens there, or it has ended.
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

    /// Whether it has ended by itself.
    var hasEnded: Bool { ended.load(ordering: .relaxed) }

    /// Makes it release hooks, queues and the metrics port.
    func release() throws(ControlFailure) { try carryOut(.release) }

    /// Makes it stop reading.
    func switchOver() throws(PlaneError) {
        do throws(ControlFailure) {
            try carryOut(.switch)
        } catch {
            throw PlaneError(
                operation: "take over from", subject: "process \(report.pid)",
                reason: error.message, remedy: error.remedy)
        }
    }

    /// Makes it end.
    ///
    /// - Returns: whether it is about to end. One that hangs or is stopped has the request in its queue: it serves no
    ///   more, and ends when it runs again.
    func finish(unused: [Endpoint]) throws(ControlFailure) -> Bool {
        do throws(ControlFailure) {
            try carryOut(.finish, unused: unused.map(\.description))
            return true
        } catch {
            guard error.isTimeout else { throw error }
            return false
        }
    }

    /// Aborts the takeover. When this returns, the old daemon has taken everything back. Its answer may get lost,
    /// because it reopens its control socket.
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
