// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Serves `/metrics`, `/healthz`, `/readyz` and the status page at `/` over HTTP/1.1, on the process's thread for
/// socket events, which it shares with discovery.
///
/// Clients affect only that thread, within limits: connections, bytes and times are bounded. At most one snapshot
/// is taken at a time, and only on request.
public actor MetricsServer {
    /// The address that it listens on; with the actual port if port 0 was given.
    public nonisolated let boundEndpoint: Endpoint

    private let listener: any Channel
    private let shared: NIOLoopBound<Shared>
    private let logger: Logger
    private var stopping: Task<Void, Never>?

    private init(
        boundEndpoint: Endpoint, listener: any Channel, shared: NIOLoopBound<Shared>, logger: Logger
    ) {
        self.boundEndpoint = boundEndpoint
        self.listener = listener
        self.shared = shared
        self.logger = logger
    }

    /// Opens the port and serves it until `stop`.
    ///
    /// - Parameters:
    ///   - bind: with port 0 the kernel chooses a port.
    ///   - path: the path of the metrics, such as `/metrics`; takes precedence over every other page.
    ///   - names: this host's names that browsers may use for the status page, besides addresses and `localhost`.
    ///   - liveness: why the process does not work and must be restarted; nil if it works. Called on the server's
    ///     thread, so it must not block.
    ///   - readiness: why the daemon is not ready; nil if it is.
    ///   - snapshot: called for a scrape, never concurrently, on an arbitrary thread.
    /// - Throws: `MetricsServerError` if the port cannot be opened; nothing is left behind then.
    public static func start(
        bind: Endpoint, path: String, names: [String] = [], logger: Logger,
        limits: Limits = Limits(),
        liveness: @escaping @Sendable () -> String? = { nil },
        readiness: @escaping @Sendable () async -> String? = { nil },
        snapshot: @escaping @Sendable () async -> DaemonSnapshot
    ) async throws(MetricsServerError) -> MetricsServer {
        try await start(
            bind: bind, path: path, names: names, logger: logger, limits: limits,
            liveness: liveness, readiness: readiness
        ) { Content.daemon(await snapshot()) }
    }

    /// The same for a page of metrics alone.
    ///
    /// - Parameter page: the page in the text format; called as a snapshot is.
    public static func start(
        bind: Endpoint, path: String, logger: Logger, page: @escaping @Sendable () async -> String
    ) async throws(MetricsServerError) -> MetricsServer {
        try await start(
            bind: bind, path: path, names: [], logger: logger, limits: Limits(),
            liveness: { nil }, readiness: { nil }
        ) { Content.page(await page()) }
    }

    private static func start(
        bind: Endpoint, path: String, names: [String], logger: Logger, limits: Limits,
        liveness: @escaping @Sendable () -> String?,
        readiness: @escaping @Sendable () async -> String?,
        content: @escaping @Sendable () async -> Content
    ) async throws(MetricsServerError) -> MetricsServer {
        do {
            let loop = group.next()
            let shared = try await loop.submit {
                let table = ConnectionTable(capacity: limits.connections)
                let scrapes = ScrapeQueue(
                    eventLoop: loop.assumeIsolated(), table: table, metricsPath: path,
                    content: content)
                let shared = Shared(
                    table: table, scrapes: scrapes, limits: limits, path: path,
                    names: ServerNames(names),
                    liveness: liveness, readiness: readiness)
                return NIOLoopBound(shared, eventLoop: loop)
            }.get()
            let address = try SocketAddress(ipAddress: "\(bind.address)", port: Int(bind.port))
            let listener = try await bootstrap(group, shared).bind(to: address).get()
            let port = listener.localAddress?.port.flatMap { UInt16(exactly: $0) } ?? bind.port
            let bound = Endpoint(bind.address, port: port)
            logger.info(
                "metrics server started", metadata: ["bind": "\(bound)", "path": "\(path)"])
            return MetricsServer(
                boundEndpoint: bound, listener: listener, shared: shared, logger: logger)
        } catch {
            throw MetricsServerError(binding: bind, error)
        }
    }

    /// Whether `stop` has been called.
    public var isStopped: Bool { stopping != nil }

    /// The thread, created at first use and kept for the life of the process. A further one could fail if threads
    /// or descriptors are scarce, and NIO then ends the process.
    private static let group: MultiThreadedEventLoopGroup = {
        NIOSingletons.groupLoopCountSuggestion = 1
        return .singleton
    }()

    /// Creates the thread that servers and discovery share, for a process that may need it later.
    ///
    /// - Throws: `MetricsServerError` if no thread or descriptor is available.
    public static func prepare() throws(MetricsServerError) {
        do throws(SystemError) {
            // Three for the thread, and some for what else the runtime may open now.
            try ThisProcess.expectRoom(descriptors: 8, threads: 2)
        } catch {
            throw MetricsServerError(preparing: error)
        }
        _ = group.next()
    }

    /// Closes the port, finishes running responses (for `Limits.stopTime` at most) and closes all connections.
    /// Returns when all is done, also to a second caller.
    public func stop() async {
        if stopping == nil {
            let (listener, shared) = (listener, shared)
            stopping = Task {
                try? await listener.close().get()
                try? await Self.drain(shared)
            }
        }
        await stopping?.value
        logger.debug("metrics server stopped")
    }

    private static func drain(_ shared: NIOLoopBound<Shared>) async throws {
        let loop = shared.eventLoop
        try await loop.flatSubmit {
            let drained = loop.makePromise(of: Void.self)
            shared.value.table.drain(drained)
            let limit = loop.scheduleTask(in: TimeAmount(shared.value.limits.stopTime)) {
                drained.succeed()
            }
            return drained.futureResult.assumeIsolated().always { _ in
                limit.cancel()
                shared.value.table.closeAll()
            }.nonisolated()
        }.get()
    }
}

extension MetricsServer {
    /// State that the connections of one server share, on its event loop.
    struct Shared {
        let table: ConnectionTable
        let scrapes: ScrapeQueue
        let limits: Limits
        let path: String
        let names: ServerNames
        let liveness: @Sendable () -> String?
        let readiness: @Sendable () async -> String?
    }

    /// What responses are made of.
    enum Content: Sendable {
        case daemon(DaemonSnapshot)
        case page(String)
    }

    /// A new connection without room; closes its channel.
    struct ConnectionRefused: Error {}

    static func bootstrap(
        _ group: MultiThreadedEventLoopGroup, _ shared: NIOLoopBound<Shared>
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            // Enough for a burst of clients: a full queue delays a new handshake by a second.
            .serverChannelOption(.backlog, value: 1024)
            // A restart need not wait for TIME_WAIT of old connections.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // Each loop iteration reads a small piece from each client, so none delays the others, and a client can
            // make the server hold only a few kilobytes.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096)
            )
            // Bounds the kernel's share of an unread response, which may otherwise grow to megabytes.
            .childChannelOption(.socketOption(.so_sndbuf), value: 128 * 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try accept(channel, shared.value) }
            }
    }

    private static func accept(_ channel: any Channel, _ shared: Shared) throws {
        let connection = Connection(channel, table: shared.table, limits: shared.limits)
        guard shared.table.admit(connection) else { throw ConnectionRefused() }
        try channel.pipeline.syncOperations.addHandlers([
            connection,
            HTTPResponseEncoder(),
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
            HTTPServerPipelineHandler(),
            RequestHandler(connection, shared: shared),
        ])
    }
}

extension MetricsServer {
    /// Limits for clients. The server closes a connection that exceeds one.
    public struct Limits: Equatable, Sendable {
        /// Open connections, 1 or more. Beyond that the most expendable one is closed: first one that never sent a
        /// complete request, never one that waits for the daemon.
        public var connections = 64
        /// Bytes of a request's first line and header. Longer ones get 431.
        public var requestBytes = 16 * 1024
        /// From the start of the connection, or the first byte of a later request, to the end of the request.
        public var requestTime: Duration = .seconds(5)
        /// From the end of a response to the first byte of the next request.
        public var idleTime: Duration = .seconds(5)
        /// For the daemon's snapshot, after which the response is 503; and for the client to read the whole
        /// response, however steadily it reads.
        public var answerTime: Duration = .seconds(10)
        /// How long a client may leave a response unread before its connection is expendable.
        public var stallTime: Duration = .seconds(1)
        /// After the last response: time for the client to read it and close its side. Closing while its bytes
        /// still arrive would reset the connection and lose the response.
        public var lingerTime: Duration = .seconds(1)
        /// How long `stop` waits for running responses.
        public var stopTime: Duration = .seconds(2)

        public init() {}
    }
}
