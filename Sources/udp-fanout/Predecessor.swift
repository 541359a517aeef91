// SPDX-License-Identifier: Apache-2.0

internal import FanoutControlSocket
internal import FanoutCore
internal import LinuxNet
internal import Synchronization
internal import UserspacePlane

/// The daemon whose place this process takes, by a connection to its control socket. When that ends before
/// the takeover does, the daemon goes on; unless it was the daemon that ended: then its sockets are ours
/// alone, and its programs are found where a killed one leaves them.
final class Predecessor: Sendable {
    let report: TakeoverReport
    private let client: ControlClient
    private let process: ProcessWatch?
    private let ended = Atomic(false)

    /// How long a daemon that answers no more may take to end.
    private static let patience = Duration.seconds(2)

    /// Asks the daemon at `path` for its sockets.
    ///
    /// - Returns: nil when none listens there.
    static func find(
        at path: String
    ) throws(ControlFailure) -> (Predecessor, sockets: [(descriptor: Int32, isSteered: Bool)])? {
        guard let client = try ControlClient.ifPresent(at: path) else { return nil }
        let (report, sockets) = try client.beginTakeover()
        let pairs = zip(sockets, report.sockets).map { (descriptor: $0, isSteered: $1) }
        return (Predecessor(client, report), pairs)
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
    func finish(unused: [Endpoint]) throws(ControlFailure) {
        try carryOut(.finish, unused: unused.map(\.description))
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
        if hasEnded { return }
        let response: ControlResponse
        do throws(ControlFailure) {
            response = try client.ask(request)
        } catch {
            guard let process, process.hasEnded(within: Self.patience) else { throw error }
            ended.store(true, ordering: .relaxed)
            return
        }
        if let error = response.error { throw error }
    }
}

/// What a daemon begins with that another process or the service manager has passed.
struct Inheritance: Sendable {
    var predecessor: Predecessor?
    var sockets: InheritedSockets?
    var store = SocketStore()

    init() {}

    /// - Parameter path: the control socket of a daemon to take the place of; nil: of none.
    init(takingOverAt path: String?) throws(ControlFailure) {
        let passed = PassedDescriptors()
        store = SocketStore(passed)
        var pairs = passed.all.map {
            (descriptor: $0.descriptor, isSteered: SocketStore.isSteered($0.name))
        }
        if let path, let (found, sockets) = try Predecessor.find(at: path) {
            predecessor = found
            // The same sockets may come from both; the daemon knows more of them.
            let known = Set(sockets.map { Socket.identity(of: $0.descriptor) })
            let isTwice = { known.contains(Socket.identity(of: $0)) }
            let twice = pairs.map(\.descriptor).filter(isTwice)
            pairs = pairs.filter { !twice.contains($0.descriptor) } + sockets
            for descriptor in twice { ThisProcess.close(descriptor) }
        }
        guard !pairs.isEmpty || predecessor != nil else { return }
        sockets = InheritedSockets(pairs) { [predecessor] () throws(PlaneError) in
            try predecessor?.switchOver()
        }
    }
}
