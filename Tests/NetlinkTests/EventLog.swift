// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LabNet
import KernelForwarding
import Synchronization

/// The events of a monitor, in order. It can block, like a slow receiver.
final class EventLog: Sendable {
    private struct State {
        var events: [NetlinkEvent] = []
        var isHeld = false
        var isWaiting = false
    }
    private let state = Mutex(State())
    private let release = DispatchSemaphore(value: 0)

    var events: [NetlinkEvent] { state.withLock(\.events) }

    /// Whether the monitor's thread is blocked here.
    var isWaiting: Bool { state.withLock(\.isWaiting) }

    /// The monitor's callback.
    func take(_ event: NetlinkEvent) {
        let isHeld = state.withLock { state in
            state.events.append(event)
            state.isWaiting = state.isHeld
            return state.isHeld
        }
        if isHeld { release.wait() }
    }

    /// Blocks the next event, and so all later ones.
    func hold() { state.withLock { $0.isHeld = true } }

    func letGo() {
        state.withLock {
            $0.isHeld = false
            $0.isWaiting = false
        }
        release.signal()
    }

    /// Waits for an event that `fits`.
    func expect(_ what: String, _ fits: (NetlinkEvent) -> Bool) async throws {
        try await eventually(what) { events.contains(where: fits) }
    }

    func count(_ fits: (NetlinkEvent) -> Bool) -> Int { events.filter(fits).count }
}
