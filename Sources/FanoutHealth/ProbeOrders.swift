// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Synchronization

/// What the probing thread is told, from other threads.
final class ProbeOrders: Sendable {
    struct Order: Sendable {
        let plan: ProbePlan
        let echo: [IPAddress.Family: EchoSocket]
        let report: @Sendable ([ProbeReport]) -> Void
    }

    let poller: Poller
    private let latest = Mutex<Order?>(nil)
    private let over = Atomic(false)

    init() throws(SystemError) { poller = try Poller() }

    var isOver: Bool { over.load(ordering: .acquiring) }

    /// Replaces an order that has not been taken yet.
    func give(_ order: Order) {
        latest.withLock { $0 = order }
        poller.wake()
    }

    func take() -> Order? { latest.withLock { $0.take() } }

    func end() {
        over.store(true, ordering: .releasing)
        poller.wake()
    }
}
