// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB
internal import Synchronization

/// A socket in its slot, and how both are let go.
final class Reception: Sendable {
    let name: String
    let socket: ReusePortSocket
    private let slot: Int
    private let group: ReusePortGroup
    private let membership: Mutex<Membership?>
    private let stopping = Atomic(false)

    init(
        name: String, _ endpoint: Endpoint, slot: Int, _ options: GroupOptions,
        receiveBuffer: Int?
    ) throws(ReusePortError) {
        let group = try ReusePortGroup(name, options)
        let socket = try ReusePortSocket(boundTo: endpoint, receiveBuffer: receiveBuffer)
        membership = Mutex(try group.join(socket, slot: slot))
        self.name = name
        self.slot = slot
        self.group = group
        self.socket = socket
    }

    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Leaves the slot, so that its sources meet others from now on, and lets the worker read what is left
    /// in the queue. Later calls change nothing.
    func stop() {
        let membership = membership.withLock { $0.take() }
        guard let membership else { return }
        do {
            try membership.leave()
        } catch {
            StandardStream.error.write("collector: warning: \(error)\n")
        }
        stopping.store(true, ordering: .releasing)
        socket.wakeReceiver()
    }

    /// What the program counted for the slot; nil when it cannot be read any more.
    var counters: SlotCounters? { try? group.counters(slot: slot) }
}
