// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// What a fake plane carries.
protocol FakeMode: Sendable { static var mode: ForwardingMode { get } }

enum First: FakeMode { static let mode = ForwardingMode.userspace }
enum Second: FakeMode { static let mode = ForwardingMode.tcEBPF }
enum Third: FakeMode { static let mode = ForwardingMode.xdpNAT }
enum Fourth: FakeMode { static let mode = ForwardingMode.afXDP }

/// A plane that forwards nothing: it follows changes, records what it was asked, and fails or waits on request.
actor FakePlane<Mode: FakeMode>: DataPlane {
    static var mode: ForwardingMode { Mode.mode }

    private(set) var changes: [Change] = []
    /// The changes that it was asked to anticipate.
    private(set) var anticipated: [Change] = []
    private(set) var listeners: [String: Listener] = [:]
    private(set) var isStopped = false
    private(set) var isRelinquished = false
    private(set) var failures: [PlaneError?]
    private var gate: CheckedContinuation<Void, Never>?
    private var holds = false

    /// - Parameter failures: the result of each apply; further ones succeed.
    init(failures: [PlaneError?] = []) { self.failures = failures }

    func anticipate(_ change: Change) { anticipated.append(change) }

    func apply(_ change: Change) async throws(PlaneError) {
        changes.append(change)
        if holds { await withCheckedContinuation { gate = $0 } }
        if !failures.isEmpty, let error = failures.removeFirst() { throw error }
        for listener in change.removed { listeners[listener.name] = nil }
        for listener in change.added + (change.retargeted + change.replaced).map(\.to) {
            listeners[listener.name] = listener
        }
    }

    /// The error of each check that would leave it more listeners than it has room for.
    private var objection: (error: PlaneError, room: Int)?

    func object(_ error: PlaneError?, room: Int = 0) { objection = error.map { ($0, room) } }

    func check(_ change: Change) throws(PlaneError) {
        let count = change.applied(to: Array(listeners.values)).count
        if let objection, count > objection.room { throw objection.error }
    }

    /// Makes the next apply throw `error`.
    func failNext(_ error: PlaneError) { failures = [error] }

    /// Makes the next apply wait for `release`.
    func hold() { holds = true }

    var isHolding: Bool { gate != nil }

    func release() {
        holds = false
        gate?.resume()
        gate = nil
    }

    func counters() -> [ListenerCounters] {
        // Not sorted: the reconciler sorts.
        listeners.keys.sorted(by: >).map { ListenerCounters(listener: $0, mode: Mode.mode) }
    }

    func relinquish() { isRelinquished = true }

    func reclaim() throws(PlaneError) {
        if !failures.isEmpty, let error = failures.removeFirst() { throw error }
        isRelinquished = false
    }

    func stop() -> [ListenerCounters] {
        isStopped = true
        defer { listeners = [:] }
        return counters()
    }
}
