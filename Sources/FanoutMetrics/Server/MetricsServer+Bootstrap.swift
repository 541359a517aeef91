// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

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
