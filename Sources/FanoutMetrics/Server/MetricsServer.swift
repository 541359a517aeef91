// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Serves `/metrics`, `/healthz`, `/readyz` and the status page at `/` over HTTP/1.1, from the process's one thread for
/// events of sockets, which looks receivers up as well.
///
/// Nothing a client does reaches beyond that thread and the limits: connections, bytes and times are
/// bounded. At most one snapshot is taken at any time, and only on request.
public actor MetricsServer {
    /// Where it listens: the address asked for, with the kernel's port when port 0 was asked for.
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
    ///   - bind: port 0 lets the kernel choose one.
    ///   - path: where the metrics are, such as `/metrics`; comes before every other page.
    ///   - names: names of this host by which browsers may ask for the status page, besides addresses and `localhost`.
    ///   - liveness: why the process does not do its work and must be restarted; nil when it does. Called on the
    ///     server's thread, which may not wait.
    ///   - readiness: why there is no service at this moment; nil when there is.
    ///   - snapshot: called for a scrape, never twice at a time, on no particular thread.
    /// - Throws: `MetricsServerError` when the port cannot be opened; nothing is left behind then.
    public static func start(
        bind: Endpoint, path: String, names: [String] = [], logger: Logger,
        limits: Limits = Limits(),
        liveness: @escaping @Sendable () -> String? = { nil },
        readiness: @escaping @Sendable () async -> String? = { nil },
        snapshot: @escaping @Sendable () async -> DaemonSnapshot
    ) async throws(MetricsServerError) -> MetricsServer {
        do {
            let loop = group.next()
            let shared = try await loop.submit {
                let table = ConnectionTable(capacity: limits.connections)
                let scrapes = ScrapeQueue(
                    eventLoop: loop.assumeIsolated(), table: table, metricsPath: path,
                    snapshot: snapshot)
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

    /// The thread, from the first use on for as long as the process lives. One more for each server could fail when
    /// threads or descriptors are scarce, and NIO then ends the process.
    private static let group: MultiThreadedEventLoopGroup = {
        NIOSingletons.groupLoopCountSuggestion = 1
        return .singleton
    }()

    /// Makes the thread that servers and lookups of receivers share, for a process that may need it later.
    ///
    /// - Throws: `MetricsServerError` when there is no thread or descriptor left for it.
    public static func prepare() throws(MetricsServerError) {
        do throws(SystemError) {
            // Three for the thread and some for what else the runtime opens just now.
            try ThisProcess.expectRoom(descriptors: 8, threads: 2)
        } catch {
            throw MetricsServerError(preparing: error)
        }
        _ = group.next()
    }

    /// Closes the port, lets answers under way end (for `Limits.stopTime` at most) and closes all connections.
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
    /// What the connections of one server share, on its event loop.
    struct Shared {
        let table: ConnectionTable
        let scrapes: ScrapeQueue
        let limits: Limits
        let path: String
        let names: ServerNames
        let liveness: @Sendable () -> String?
        let readiness: @Sendable () async -> String?
    }

    /// A newcomer that found no room; ends its channel.
    struct ConnectionRefused: Error {}

    static func bootstrap(
        _ group: MultiThreadedEventLoopGroup, _ shared: NIOLoopBound<Shared>
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            // Long enough for a burst of clients: a full queue costs a newcomer's handshake a second.
            .serverChannelOption(.backlog, value: 1024)
            // A restart need not wait for the last connections' TIME_WAIT.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // A turn of the loop takes one small piece from each client, so none holds up the others,
            // and what a client can make the server hold is a few kilobytes.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096)
            )
            // The kernel's share of an answer that a client does not read; it may grow to megabytes
            // when left to itself.
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
    /// What the server grants its clients. Beyond each limit the connection is closed.
    public struct Limits: Equatable, Sendable {
        /// Connections open at a time, 1 or more. When one more comes, the one that is the least
        /// loss makes room: rather one that has never sent a whole request than one that has, and
        /// never one that is waiting for the daemon.
        public var connections = 64
        /// Bytes of a request: its first line and its header. Longer ones are answered with 431.
        public var requestBytes = 16 * 1024
        /// From the connection's start, or a later request's first byte, to that request's end.
        public var requestTime: Duration = .seconds(5)
        /// Between an answer's end and the next request's first byte.
        public var idleTime: Duration = .seconds(5)
        /// For the daemon to take its snapshot; afterwards the answer is 503. And for the client to
        /// take the whole answer off its socket, however steadily it reads.
        public var answerTime: Duration = .seconds(10)
        /// How long a client may leave an answer unread before its connection may make room for
        /// another.
        public var stallTime: Duration = .seconds(1)
        /// After the last answer: for the client to read it and close its side. Closing at once
        /// while its bytes are still coming would reset the connection and destroy the answer.
        public var lingerTime: Duration = .seconds(1)
        /// How long `stop` waits for answers under way.
        public var stopTime: Duration = .seconds(2)

        public init() {}
    }
}
