// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The open connections, never more than allowed. Lives on the event loop.
final class ConnectionTable {
    private let capacity: Int
    private var connections: [ObjectIdentifier: Connection] = [:]
    private var drained: EventLoopPromise<Void>?
    private(set) var counters = ServerCounters()

    init(capacity: Int) { self.capacity = capacity }

    /// Takes a newcomer in. When the table is full, the most expendable connection is closed, so
    /// clients that hold connections without using them cannot shut out a scrape.
    ///
    /// - Returns: false when there is no room and none can be made; the newcomer must then be closed.
    func admit(_ connection: Connection) -> Bool {
        guard drained == nil else { return false }
        if connections.count >= capacity {
            counters.connectionsRefused += 1
            guard let victim = mostExpendable() else { return false }
            // Out of the table first: the channel tells of its end only later.
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

    /// Closes what is left, whatever it waits for.
    func closeAll() {
        for connection in connections.values { connection.close() }
    }
}

/// What the metrics server counts about itself.
public struct ServerCounters: Equatable, Sendable {
    /// Connections closed because the server had as many as it allows: the newcomer, or an older one
    /// that made room for it.
    public var connectionsRefused: UInt64

    public init(connectionsRefused: UInt64 = 0) {
        self.connectionsRefused = connectionsRefused
    }
}
