// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import LinuxNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Migration")
    struct MigrationTests {}
}

extension ReusePortTests.MigrationTests {
    @Test("all connections that wait at a dying listener are moved to another one")
    func migration() async throws {
        let group = try Place().group(count: 2)
        let listeners = try Listeners(count: 2, on: try .free())
        let first = try group.join(descriptor: listeners.descriptor(0), slot: 0)
        let second = try group.join(descriptor: listeners.descriptor(1), slot: 1)
        let prediction = Prediction(count: 2)
        let sources = IPAddress.v4Sources(64).filter { prediction.slot(of: $0) == 0 }.prefix(4)
        let connections = try sources.map {
            Connected(try connection(from: $0, to: listeners.endpoint))
        }
        listeners.close(0)
        var moved: [IPAddress] = []
        try await eventually("four connections are moved") {
            moved += try listeners.accept(1)
            return moved.count >= 4
        }
        #expect(Set(moved) == Set(sources))
        #expect(connections.count == 4)
        // The first choice is gone when they move, so the other member is the fallback.
        #expect(try group.counters(slot: 1).fallback == 4)
        try first.leave()
        try second.leave()
    }

    /// Boxes a connection, because an array takes no noncopyable values.
    private final class Connected {
        let socket: Socket
        init(_ socket: consuming Socket) { self.socket = socket }
    }
}
