// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
public import Logging
internal import Synchronization

/// Serves requests on the control socket: lines of JSON in and out, in order. Accepts only root and the daemon's
/// own user.
///
/// Each connection has its own thread, so that a slow or silent client delays no other. Connections are few
/// and short.
public final class ControlServer: Sendable {
    /// Carries out a request. It may be called concurrently.
    public typealias Handler = @Sendable (ControlRequest) async -> ControlResponse

    /// Maximum number of connections; further ones wait.
    static let connectionsMax = 16
    /// How long a client may be silent.
    static let patienceSeconds = 60

    public var path: String { listener.path }

    private let listener: UnixListener
    private let handler: Handler
    private let host: (any TakeoverHost)?
    private let logger: Logger
    private let connections = Mutex<Set<ControlConnection>>([])
    private let accepting = Latch()

    /// Listens at `path`, which a killed daemon may have left behind.
    ///
    /// - Parameters:
    ///   - takingOver: whether to take the path from a running daemon, which keeps its connections.
    ///   - host: carries out the steps of `takeover`; nil: the handler does, as for every request.
    /// - Throws: `ControlSocketError` if a running daemon has it or it cannot be created.
    public static func start(
        path: String, takingOver: Bool = false, logger: Logger,
        host: (any TakeoverHost)? = nil, handler: @escaping Handler
    ) throws(ControlSocketError) -> ControlServer {
        let listener: UnixListener
        do throws(UnixListener.Refusal) {
            listener = try UnixListener(path: path, takingOver: takingOver)
        } catch {
            throw ControlSocketError(error, path: path)
        }
        let server = ControlServer(listener, logger, handler, host)
        do throws(SystemError) {
            // The thread and the server keep each other alive until the server is stopped.
            try Thread(name: "control") { server.accept() }.detach()
        } catch {
            listener.end()
            throw ControlSocketError(.system(error), path: path)
        }
        return server
    }

    private init(
        _ listener: UnixListener, _ logger: Logger, _ handler: @escaping Handler,
        _ host: (any TakeoverHost)?
    ) {
        self.listener = listener
        self.logger = logger
        self.handler = handler
        self.host = host
    }

    /// Accepts no more connections and ends the open ones; running requests continue.
    public func stop() {
        listener.end()
        accepting.wait(until: MonotonicClock.now + 1_000_000_000)
        connections.withLock { for connection in $0 { connection.end() } }
    }

    private func accept() {
        defer { accepting.countDown() }
        var number = 0
        while let stream = listener.accept() {
            guard isWelcome(stream) else { continue }
            number += 1
            let connection = ControlConnection(stream, number: number, handler, host)
            let isOver = connections.withLock { open in
                guard open.count < Self.connectionsMax else { return true }
                open.insert(connection)
                return false
            }
            if isOver {
                connection.refuse("too many connections", "try again in a moment")
                continue
            }
            do throws(SystemError) {
                try Thread(name: "control-client") { [self] in
                    connection.serve()
                    connections.withLock { _ = $0.remove(connection) }
                }.detach()
            } catch {
                connections.withLock { _ = $0.remove(connection) }
                connection.refuse("no thread for the connection", "\(error)")
            }
        }
    }

    /// The file mode already excludes others; this check holds wherever the file is.
    private func isWelcome(_ stream: UnixStream) -> Bool {
        guard let peer = try? stream.peer else { return false }
        if peer.uid == 0 || peer.uid == ThisProcess.effectiveUser { return true }
        logger.warning(
            "control socket: a request of another user is refused",
            metadata: ["uid": "\(peer.uid)", "pid": "\(peer.pid)"])
        return false
    }
}

/// A daemon that another process can replace.
public protocol TakeoverHost: Sendable {
    /// Carries out a step of `takeover`.
    ///
    /// - Parameter client: the connection of the request.
    /// - Returns: the response, and the descriptors to send with it, borrowed until the next step.
    func carryOut(
        _ request: ControlRequest, for client: Int
    ) async -> (ControlResponse, descriptors: [Int32])

    /// A connection that began a takeover ended without the last step.
    func takeoverBroke(of client: Int) async

    /// The response to the last step has been sent, or the client is gone.
    func takeoverEnded() async
}
