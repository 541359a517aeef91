// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import NIOCore

/// Takes one snapshot at a time, however many clients ask. Runs on the event loop.
///
/// Clients that ask during a snapshot share the next one, never the running one: a page contains everything that
/// was counted before its request.
final class ScrapeQueue {
    typealias Deliver = (Response) -> Void
    private typealias Order = (document: Document, deliver: Deliver)

    private let eventLoop: NIOIsolatedEventLoop
    private let table: ConnectionTable
    private let metricsPath: String
    private let content: @Sendable () async -> MetricsServer.Content
    /// Clients that wait for the running snapshot, if any, and for the next one.
    private var served: [ObjectIdentifier: Order]?
    private var waiting: [ObjectIdentifier: Order] = [:]

    init(
        eventLoop: NIOIsolatedEventLoop, table: ConnectionTable, metricsPath: String,
        content: @escaping @Sendable () async -> MetricsServer.Content
    ) {
        self.eventLoop = eventLoop
        self.table = table
        self.metricsPath = metricsPath
        self.content = content
    }

    /// Calls `deliver` on the event loop with the document, later.
    func scrape(
        _ document: Document, for client: Connection, deliver: @escaping Deliver
    ) {
        waiting[ObjectIdentifier(client)] = (document, deliver)
        if served == nil { start() }
    }

    /// Removes a client that has gone, so that the queue is never longer than the table of connections.
    func forget(_ client: Connection) {
        waiting[ObjectIdentifier(client)] = nil
        served?[ObjectIdentifier(client)] = nil
    }

    private func start() {
        served = waiting
        waiting = [:]
        let content = self.content
        let taken = eventLoop.nonisolated().makeFutureWithTask { await content() }
        taken.assumeIsolated().whenSuccess { self.finish($0) }
    }

    /// Renders on the server's own thread, once for all clients that share the snapshot and the resource. HTML
    /// pages are rendered for each client, since each has its own nonce.
    private func finish(_ content: MetricsServer.Content) {
        let orders = served ?? [:]
        served = nil
        var rendered: [Document: Response] = [:]
        for (document, deliver) in orders.values {
            let response = rendered[document] ?? render(document, of: content)
            if document.isShared { rendered[document] = response }
            deliver(response)
        }
        if served == nil, !waiting.isEmpty { start() }
    }

    private func render(_ document: Document, of content: MetricsServer.Content) -> Response {
        switch content {
        case .daemon(let snapshot): render(document, of: snapshot)
        case .page(let text):
            document == .metrics ? Response(metrics: ByteBuffer(string: text)) : .notFound
        }
    }

    private func render(_ document: Document, of snapshot: DaemonSnapshot) -> Response {
        switch document {
        case .metrics:
            let text = Exposition.text(
                of: snapshot, server: table.counters, process: .current())
            return Response(metrics: ByteBuffer(bytes: text))
        case .page(let listener):
            let page = StatusPage(
                StatusView(snapshot, of: listener), metricsPath: metricsPath)
            return Response(page: page)
        case .data(let listener):
            return Response(data: StatusView(snapshot, of: listener))
        }
    }
}
