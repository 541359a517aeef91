// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB
internal import Synchronization

/// A socket in its slot.
final class Reception: Sendable {
    let name: String
    let socket: ReusePortSocket
    private let slot: Int
    private let group: ReusePortGroup
    private let membership: Mutex<Membership?>
    private let stopping = Atomic(false)
    /// The slot's counters at the join; only its member adds to them.
    private let before: SlotCounters

    /// Binds first, so that an unavailable address leaves no group behind.
    init(
        name: String, _ endpoint: Endpoint, slot: Int, _ options: GroupOptions,
        receiveBuffer: Int?, replacing: Bool
    ) throws {
        let socket = try ReusePortSocket(boundTo: endpoint, receiveBuffer: receiveBuffer)
        let group = try GroupOpening.open(name, options)
        before = try group.counters(slot: slot)
        membership = Mutex(try group.join(socket, slot: slot, replacing: replacing))
        self.name = name
        self.slot = slot
        self.group = group
        self.socket = socket
    }

    var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Retires from the slot, so that its sources go to other members, and lets the worker read the rest of the
    /// queue. Later calls change nothing.
    func stop() {
        let membership = membership.withLock { $0.take() }
        guard let membership else { return }
        do {
            try membership.retire()
        } catch {
            StandardStream.error.write("collector: warning: \(error)\n")
        }
        stopping.store(true, ordering: .releasing)
        socket.wakeReceiver()
    }

    /// Waits until another process has had the slot for half a second, in which this one gets it back if the other one
    /// fails, then stops as ``stop()`` does. Returns at cancellation.
    func stopWhenReplaced() async {
        var checks = 0
        while (try? await Task.sleep(for: .milliseconds(100))) != nil, !isStopping {
            let isReplaced = membership.withLock { (try? $0?.isReplaced()) == true }
            checks = isReplaced ? checks + 1 : 0
            guard checks > 5,
                membership.withLock({ (try? $0?.retireIfReplaced()) == true })
            else { continue }
            StandardStream.error.write(
                "collector: another process has replaced this one in slot \(slot)\n")
            stop()
        }
    }

    /// What the program has counted for the slot since it was joined; nil when it cannot be read any more.
    var counters: SlotCounters? {
        guard var counters = try? group.counters(slot: slot) else { return nil }
        counters.selected &-= before.selected
        counters.fallback &-= before.fallback
        counters.missed &-= before.missed
        return counters
    }
}

/// What a collector has received. The worker alone writes; any thread may read.
final class Tally: Sendable {
    /// Source addresses counted at most; otherwise an attacker could fill the memory with them.
    static let sourcesMax = 1 << 20

    let received = Atomic<UInt64>(0)
    /// Payload bytes, including those cut off.
    let bytes = Atomic<UInt64>(0)
    let truncated = Atomic<UInt64>(0)
    /// Different source addresses.
    let sources = Atomic(0)
}
