// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// The loop of the probing thread. Each target is probed at a random moment first, then at least once per interval.
/// A tenth of the interval is random, so that several balancers do not probe in step.
struct ProbeLoop {
    private enum Moment {
        case probe(of: UInt64)
        case silence(of: UInt64)
    }

    private let orders: ProbeOrders
    private var plan = ProbePlan(targets: [], interval: .seconds(1), timeout: .seconds(1))
    private var report: @Sendable ([ProbeReport]) -> Void = { _ in }
    private var echo: [IPAddress.Family: EchoSocket] = [:]
    /// The targets by the number of their schedule entry, and back.
    private var targets: [UInt64: ProbeTarget] = [:]
    private var numbers: [ProbeTarget: UInt64] = [:]
    private var flights: [UInt64: Flight] = [:]
    private var moments = DeadlineQueue<Moment>()
    private var neighbours = SilentNeighbours()
    private var done: [ProbeReport] = []
    private var buffer = [UInt8](repeating: 0, count: 2048)
    /// Numbers of entries and probes, never reused. Numbers below are those of the families.
    private var next: UInt64 = 16

    init(_ orders: ProbeOrders) { self.orders = orders }

    /// Probes until the orders end it.
    mutating func run() {
        while takeOrders() {
            let now = MonotonicClock.now
            while let moment = moments.take(until: now) {
                switch moment {
                case .probe(let number): begin(number, now)
                case .silence(let token): endSilent(token)
                }
            }
            deliver()
            forgetAnswered()
            let pause = moments.earliest.map { max(0, $0 - MonotonicClock.now) }
            // Rounded up: waking a millisecond early would be a useless round.
            for token in orders.poller.wait(milliseconds: pause.map { Int($0 / 1_000_000) + 1 }) {
                take(token)
            }
            deliver()
        }
    }

    // MARK: Orders

    /// - Returns: false at the end.
    private mutating func takeOrders() -> Bool {
        guard let order = orders.take() else { return !orders.isOver }
        if order.plan.interval != plan.interval {
            // Entries of the old interval might be an hour away.
            targets = [:]
            numbers = [:]
            flights = [:]
        }
        (plan, report) = (order.plan, order.report)
        for (family, socket) in order.echo where echo[family] == nil {
            // Fails only for lack of memory; a later plan tries again, and until then nothing is sent.
            guard (try? socket.wait(in: orders.poller, token: family.token)) != nil else {
                continue
            }
            echo[family] = socket
        }
        for (number, target) in targets where !plan.targets.contains(target) {
            targets[number] = nil
            numbers[target] = nil
        }
        flights = flights.filter { numbers[$0.value.target] != nil }
        let now = MonotonicClock.now
        for target in plan.targets where numbers[target] == nil {
            let number = newNumber()
            targets[number] = target
            numbers[target] = number
            moments.put(.probe(of: number), at: now + .random(in: 0..<plan.interval.nanoseconds))
        }
        return true
    }

    private mutating func newNumber() -> UInt64 {
        next += 1
        return next
    }

    private mutating func deliver() {
        guard !done.isEmpty else { return }
        report(done)
        done.removeAll(keepingCapacity: true)
    }

    // MARK: Probes

    private mutating func begin(_ number: UInt64, _ now: Int64) {
        guard let target = targets[number] else { return }
        let (interval, timeout) = (plan.interval.nanoseconds, plan.timeout.nanoseconds)
        let next = now + max(timeout, interval - .random(in: 0...(interval / 10)))
        moments.put(.probe(of: number), at: next)
        let token = newNumber()
        do throws(SystemError) {
            flights[token] = try launch(target, token)
        } catch {
            done.append(ProbeReport(target, error.obstacle, detail: error.description))
            return
        }
        // The kernel needs three seconds to give up a host that does not answer ARP
        // (net.ipv4.neigh.default.mcast_solicit times retrans_time), so silence means little before the next probe
        // is due.
        let end = plan.expectsReply(target.kind) ? now + timeout : next
        moments.put(.silence(of: token), at: end)
    }

    private func launch(_ target: ProbeTarget, _ token: UInt64) throws(SystemError) -> Flight {
        let nonce = UInt64.random(in: 0...UInt64.max)
        guard target.kind == .icmp else {
            return try Flight(
                target, plan: plan, nonce: nonce, poller: orders.poller, token: token)
        }
        let address = target.endpoint.address
        guard let socket = echo[address.family] else {
            throw SystemError("epoll_ctl", code: ENOMEM)
        }
        try socket.send(EchoMessage(token: token, nonce: nonce), to: address)
        return Flight(echoTo: target, nonce: nonce)
    }

    private mutating func endSilent(_ token: UInt64) {
        guard let flight = flights.removeValue(forKey: token) else { return }
        let target = flight.target
        if flight.silence.isAlive == true,
            neighbours.contains(target.endpoint.address, MonotonicClock.now)
        {
            let detail = "the host does not answer ARP"
            done.append(ProbeReport(target, .unreachable, detail: detail))
        } else {
            done.append(ProbeReport(target, flight.silence))
        }
    }

    /// Most probes are answered long before their timeout; these need no wake-up.
    private mutating func forgetAnswered() {
        let flights = flights
        moments.drop { moment in
            if case .silence(let token) = moment { flights[token] == nil } else { false }
        }
    }

    // MARK: Answers

    private mutating func take(_ token: UInt64) {
        if token == Poller.wakeToken { return orders.poller.clearWake() }
        if let family = [IPAddress.Family.v4, .v6].first(where: { $0.token == token }) {
            return takeReplies(family)
        }
        guard let outcome = flights[token]?.outcome(&buffer),
            let flight = flights.removeValue(forKey: token)
        else { return }
        done.append(ProbeReport(flight.target, outcome.result, detail: outcome.detail))
    }

    /// Only a reply from the probed host with the right nonce counts.
    private mutating func takeReplies(_ family: IPAddress.Family) {
        while let reply = echo[family]?.reply(&buffer) {
            let token = reply.message.token
            guard let flight = flights[token], flight.target.kind == .icmp,
                flight.nonce == reply.message.nonce,
                flight.target.endpoint.address.isSame(as: reply.source)
            else { continue }
            flights[token] = nil
            done.append(ProbeReport(flight.target, .success))
        }
    }
}

extension IPAddress {
    /// Ignores zones, which the source of a datagram does not carry.
    fileprivate func isSame(as other: IPAddress) -> Bool { high == other.high && low == other.low }
}

extension IPAddress.Family {
    fileprivate var token: UInt64 { self == .v4 ? 1 : 2 }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}

/// Orders from other threads to the probing thread.
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
