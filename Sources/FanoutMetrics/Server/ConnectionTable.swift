// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The open connections, up to a limit. Runs on the event loop.
final class ConnectionTable {
    private let capacity: Int
    private var connections: [ObjectIdentifier: Connection] = [:]
    private var drained: EventLoopPromise<Void>?
    private(set) var counters = ServerCounters()

    init(capacity: Int) { self.capacity = capacity }

    /// Adds a connection. If the table is full, the most expendable connection is closed, so that idle clients
    /// cannot shut out a scrape.
    ///
    /// - Returns: false if there is no room; the caller must then close the new connection.
    func admit(_ connection: Connection) -> Bool {
        guard drained == nil else { return false }
        if connections.count >= capacity {
            counters.connectionsRefused += 1
            guard let victim = mostExpendable() else { return false }
            // Removed first: the channel reports its end only later.
            remove(victim)
            victim.close()
        }
        connections[ObjectIdentifier(connection)] = connection
        return true
    }

    func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty { drained?.succeed() }
    }

    private func mostExpendable() -> Connection? {
        connections.values
            .compactMap { connection in connection.expendability.map { (connection, $0) } }
            .min { $0.1 < $1.1 }?.0
    }

    /// Admits no new client, closes idle connections, and lets responses under way end.
    ///
    /// - Parameter drained: succeeds when the last connection has ended.
    func drain(_ drained: EventLoopPromise<Void>) {
        self.drained = drained
        for connection in connections.values {
            switch connection.phase {
            case .answering, .writing: connection.endsAfterAnswer = true
            case .idle, .receiving, .lingering: connection.close()
            }
        }
        if connections.isEmpty { drained.succeed() }
    }

    /// Closes the remaining connections, whatever their phase.
    func closeAll() {
        for connection in connections.values { connection.close() }
    }
}

/// Counters of the metrics server.
public struct ServerCounters: Equatable, Sendable {
    /// Connections closed because of the limit: the new one, or an older one to make room.
    public var connectionsRefused: UInt64

    public init(connectionsRefused: UInt64 = 0) {
        self.connectionsRefused = connectionsRefused
    }
}
