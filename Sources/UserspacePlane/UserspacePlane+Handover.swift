// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet

// A restart without loss: the successor gets the bound sockets themselves. This process stops reading only
// when the successor is ready, and what is in a socket's queue then is the successor's. Sockets that were
// made anew could not have it: a socket that is closed takes its queue with it.

/// The sockets of one listener.
public struct ListenerSockets: Sendable {
    public let bind: Endpoint
    /// One a worker; borrowed, and open as long as the listener is as it is.
    public let descriptors: [Int32]
    /// Whether a program of their group leads each source to one of them.
    public let isSteered: Bool
}

extension UserspacePlane {
    /// The sockets of every listener.
    public func sockets() -> [ListenerSockets] {
        groups.values.sorted { $0.listener.name < $1.listener.name }.map { group in
            ListenerSockets(
                bind: group.listener.bind, descriptors: group.workers.map(\.descriptor),
                isSteered: group.steered != nil)
        }
    }

    public func relinquish() { pause(emptyingQueues: false) }

    /// Stops reading. When it returns this process takes nothing more from any socket.
    ///
    /// - Parameter emptyingQueues: whether what is there already is forwarded first, as far as it comes to
    ///   an end.
    public func pause(emptyingQueues: Bool) {
        let reading = groups.values.filter { !$0.isPaused }
        for group in reading { group.beginPause(emptyingQueue: emptyingQueues) }
        for group in reading { group.awaitPause() }
    }

    public func reclaim() { for group in groups.values { group.goOn() } }

    /// Goes on with those at these addresses alone, which the successor does not serve.
    public func reclaim(_ binds: Set<Endpoint>) {
        for group in groups.values where binds.contains(group.listener.bind.withoutZone) {
            group.goOn()
        }
    }
}

extension ListenerGroup {
    func beginPause(emptyingQueue: Bool) {
        isPaused = true
        for worker in workers { worker.pause(emptyingQueue: emptyingQueue) }
    }

    func awaitPause() { for worker in workers { worker.awaitPause() } }

    func goOn() {
        guard isPaused else { return }
        for worker in workers { worker.open() }
        isPaused = false
    }

    /// Ends the workers, which are paused, without touching their sockets.
    func leave() { for worker in workers { worker.endPaused() } }
}
