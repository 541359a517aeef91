// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LabNet
import KernelForwarding
import Synchronization

/// What a monitor told, in order. It can be held up, as a slow receiver would be.
final class EventLog: Sendable {
    private struct State {
        var events: [NetlinkEvent] = []
        var isHeld = false
        var isWaiting = false
    }
    private let state = Mutex(State())
    private let release = DispatchSemaphore(value: 0)

    var events: [NetlinkEvent] { state.withLock(\.events) }

    /// Whether the monitor's thread is being held up.
    var isWaiting: Bool { state.withLock(\.isWaiting) }

    /// For the monitor to call.
    func take(_ event: NetlinkEvent) {
        let isHeld = state.withLock { state in
            state.events.append(event)
            state.isWaiting = state.isHeld
            return state.isHeld
        }
        if isHeld { release.wait() }
    }

    /// Lets the next event wait, and so all that come after it.
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
