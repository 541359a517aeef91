// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging
internal import LinuxNet
internal import NIOCore
internal import NIOPosix

/// Serves `/metrics`, `/healthz`, `/readyz` and the status page at `/` over HTTP/1.1, from the process's one thread for
/// events of sockets, which looks receivers up as well.
///
/// Nothing a client does reaches beyond that thread and the limits: connections, bytes and times are
/// bounded, at most one snapshot is being taken at any time, and none unless somebody asks.
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
        snapshot: @escaping @Sendable () async -> MetricsSnapshot
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
