// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
import LabNet
import Synchronization

/// A plane and its active state.
public final class Rig: Sendable {
    public let plane: any DataPlane
    private let state = Mutex(DesiredState())

    public init(_ plane: any DataPlane) { self.plane = plane }

    /// Applies `listeners` the way the daemon does.
    public func apply(_ listeners: [Listener]) async throws(PlaneError) {
        let (old, new) = (state.withLock { $0 }, DesiredState(listeners: listeners))
        try await plane.apply(Change.diff(from: old, to: new))
        state.withLock { $0 = new }
    }

    public func counters(_ name: String = "in") async throws -> ListenerCounters {
        guard let counters = await plane.counters().first(where: { $0.listener == name }) else {
            throw Broken(what: "no counters for listener \(name)")
        }
        return counters
    }

    /// Waits until listener `name` has counted `expected` datagrams, including those that the kernel dropped at its
    /// sockets, and its counters add up.
    @discardableResult
    public func settled(
        _ name: String = "in", at expected: UInt64
    ) async throws -> ListenerCounters {
        var last = ListenerCounters(listener: name, mode: .userspace)
        do {
            try await eventually("listener \(name) has dealt with \(expected) datagrams") {
                last = try await counters(name)
                return last.packetsReceived + last.kernelDrops == expected && last.isBalanced
            }
        } catch is NeverHappened {
            throw Broken(what: "listener \(name) should have dealt with \(expected): \(last)")
        }
        return last
    }

    /// Removes every listener.
    @discardableResult
    public func stop() async -> [ListenerCounters] {
        state.withLock { $0 = DesiredState() }
        return await plane.stop()
    }
}

/// A promise that a plane did not keep.
public struct Broken: Error, CustomStringConvertible {
    public let what: String

    public init(what: String) { self.what = what }

    public var description: String { what }
}

/// - Throws: `Broken` with `what` unless `condition` holds.
func claim(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Broken(what: what()) }
}

/// - Throws: `Broken` with both values unless they are equal.
func claim<Value: Equatable>(_ value: Value, is wanted: Value, _ what: String) throws {
    if value != wanted { throw Broken(what: "\(what): \(value), not \(wanted)") }
}
