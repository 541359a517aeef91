// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Takes one snapshot at a time, however many clients ask. Lives on the event loop.
///
/// Who asks while a snapshot is being taken shares the next one, never the one under way: a page holds
/// everything that had been counted when it was asked for.
final class ScrapeQueue {
    typealias Deliver = (ByteBuffer) -> Void

    private let eventLoop: NIOIsolatedEventLoop
    private let table: ConnectionTable
    private let snapshot: @Sendable () async -> MetricsSnapshot
    /// Who waits for the snapshot under way, if one is; and who for the next.
    private var served: [ObjectIdentifier: Deliver]?
    private var waiting: [ObjectIdentifier: Deliver] = [:]

    init(
        eventLoop: NIOIsolatedEventLoop, table: ConnectionTable,
        snapshot: @escaping @Sendable () async -> MetricsSnapshot
    ) {
        self.eventLoop = eventLoop
        self.table = table
        self.snapshot = snapshot
    }

    /// Calls `deliver` on the event loop with a page, later.
    func scrape(for client: Connection, deliver: @escaping Deliver) {
        waiting[ObjectIdentifier(client)] = deliver
        if served == nil { start() }
    }

    /// Forgets a client that has gone, so that the queue is never longer than the table of connections.
    func forget(_ client: Connection) {
        waiting[ObjectIdentifier(client)] = nil
        served?[ObjectIdentifier(client)] = nil
    }

    private func start() {
        served = waiting
        waiting = [:]
        let snapshot = self.snapshot
        let taken = eventLoop.nonisolated().makeFutureWithTask { await snapshot() }
        taken.assumeIsolated().whenSuccess { self.finish($0) }
    }

    /// Rendering happens here, on the server's own thread, once for all who share the snapshot.
    private func finish(_ snapshot: MetricsSnapshot) {
        let clients = served ?? [:]
        served = nil
        if !clients.isEmpty {
            let text = Exposition.text(
                of: snapshot, server: table.counters, process: .current())
            let page = ByteBuffer(bytes: text)
            for deliver in clients.values { deliver(page) }
        }
        if served == nil, !waiting.isEmpty { start() }
    }
}
