// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import KernelForwarding
import LabNet
import Synchronization
import Testing
import Tiers

/// Planes that follow the same change look up the paths to its receivers once.
@Suite("The cache of paths to receivers", .tags(.network))
struct PathMemoryTests {
    private let memory = PathMemory()
    private let receivers = Set((1...5).map { IPAddress(v4: 0x0a00_0000 + $0) })

    /// The lookups in the kernel.
    private final class Questions: Sendable {
        let asked = Mutex<[[IPAddress]]>([])

        func answer(_ receivers: [IPAddress]) -> [ReceiverPath?] {
            asked.withLock { $0.append(receivers) }
            // One of them has no path.
            return receivers.map { $0.v4 == 0x0a00_0001 ? nil : .routes }
        }

        var count: Int { asked.withLock { $0.reduce(0) { $0 + $1.count } } }
    }

    private let questions = Questions()

    private func ask(
        _ receivers: Set<IPAddress>, since: ContinuousClock.Instant,
        asking moment: ContinuousClock.Instant = .now
    ) throws -> [IPAddress: ReceiverPath?] {
        try memory.paths(to: receivers, since: since, asking: moment) { questions.answer($0) }
    }

    @Test("answers for another plane, also that there is no path")
    func known() throws {
        let beginning = ContinuousClock.now
        let first = try ask(receivers, since: beginning)
        #expect(first.count == 5)
        #expect(first[IPAddress(v4: 0x0a00_0001)] == .some(nil))
        #expect(try ask(receivers, since: beginning) == first)
        #expect(questions.count == 5)
    }

    @Test("looks up only receivers that it does not know")
    func unknown() throws {
        let beginning = ContinuousClock.now
        _ = try ask(receivers, since: beginning)
        let other = IPAddress(v4: 0x0a00_0009)
        #expect(try ask(receivers.union([other]), since: beginning).count == 6)
        #expect(questions.asked.withLock(\.last) == [other])
    }

    @Test("looks up again for a caller that needs the current state")
    func since() throws {
        _ = try ask(receivers, since: .now)
        _ = try ask(receivers, since: .now)
        #expect(questions.count == 10)
    }

    @Test("does not count a result of older lookups as new")
    func older() throws {
        let links = ContinuousClock.now
        let event = ContinuousClock.now
        _ = try ask(receivers, since: links, asking: links)
        _ = try ask(receivers, since: event)
        #expect(questions.count == 10)
    }

    @Test("makes concurrent callers with the same receivers wait")
    func atOnce() async throws {
        let beginning = ContinuousClock.now
        let (memory, questions, receivers) = (memory, questions, receivers)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try memory.paths(to: receivers, since: beginning, asking: .now) {
                        questions.answer($0)
                    }.count
                }
            }
            for try await count in group { #expect(count == 5) }
        }
        #expect(questions.count == 5)
    }

    @Test(
        "does not serve results from before a change in the kernel",
        .enabled(if: Privilege.isRoot),
        arguments: [
            "ip link add wire type veth peer name erew", "sysctl -qw net.ipv4.ip_forward=1",
        ])
    func watched(change: String) async throws {
        try await Namespace.run(["link set lo up"]) {
            let beginning = ContinuousClock.now
            let moments = Mutex<[ContinuousClock.Instant]>([])
            let watch = try NetworkWatch { moment, _ in
                moments.withLock { $0.append(moment) }
                return true
            }
            #expect(watch.recently >= beginning, "earlier changes would not be reported")
            let before = ContinuousClock.now
            try Namespace.command(change)
            try await eventually("it is reported") { moments.withLock { !$0.isEmpty } }
            #expect(moments.withLock { $0[0] } > before)
            #expect(ContinuousClock.now - watch.recently < .milliseconds(100))
            watch.stop()
        }
    }

    /// A large link has hundreds of neighbour events a second, some from the planes' own probes.
    @Test(
        "the watch ignores events about entries that were not read, and reports the others",
        .enabled(if: Privilege.isRoot))
    func interest() async throws {
        try await Namespace.run([
            "link set lo up", "link add wire type veth peer name erew",
            "link set wire addrgenmode none up", "link set erew addrgenmode none",
            "link set erew up", "address add 10.9.0.1/24 dev wire",
            "route add 10.8.0.0/16 via 10.9.0.2",
        ]) {
            let changes = Mutex<[NetworkChange]>([])
            let watch = try NetworkWatch { _, change in
                changes.withLock { $0.append(change) }
                return true
            }
            defer { watch.stop() }
            let used = try #require(IPAddress("10.8.1.1"))
            var netlink = try Netlink()
            watch.looked(
                at: try NetworkView.ask(&netlink, names: nil, known: [:], receivers: [used]))
            func neighbour(_ last: Int, _ mac: Int) throws {
                try Namespace.command(
                    "ip neigh replace 10.9.0.\(last) lladdr 02:00:00:00:00:0\(mac) dev wire nud reachable"
                )
            }
            func count() -> Int { changes.withLock(\.count) }
            try await Task.sleep(for: .seconds(1))
            let before = count()
            for number in 10..<60 { try neighbour(number, number % 8) }
            try Namespace.command("ip route add 10.7.0.0/16 via 10.9.0.3")
            try await Task.sleep(for: .milliseconds(300))
            #expect(count() == before)

            try neighbour(2, 1)
            try await eventually("the next hop's address is reported") { count() == before + 1 }
            // Only another state of the same address, as after a probe.
            try Namespace.command(
                "ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:01 dev wire nud stale")
            try await Task.sleep(for: .milliseconds(300))
            #expect(count() == before + 1)
            try neighbour(2, 2)
            try await eventually("another address is reported") { count() == before + 2 }
            try Namespace.command("ip route add 10.8.1.0/24 via 10.9.0.4")
            try await eventually("a route to a receiver is reported") { count() == before + 3 }
            try Namespace.command("ip link set wire mtu 1400")
            try await eventually("a link is reported") { count() >= before + 4 }
            #expect(changes.withLock { $0.allSatisfy { $0 == .network } })
        }
    }

    @Test(
        "with routes kept, a new address of any neighbour counts", .enabled(if: Privilege.isRoot)
    )
    func keptRoutes() async throws {
        try await Namespace.run([
            "link set lo up", "link add wire type veth peer name erew",
            "link set wire addrgenmode none up", "link set erew addrgenmode none",
            "link set erew up", "address add 10.9.0.1/24 dev wire",
        ]) {
            let changes = Mutex<[NetworkChange]>([])
            let watch = try NetworkWatch(keepsRoutes: true) { _, change in
                changes.withLock { $0.append(change) }
                return true
            }
            defer { watch.stop() }
            try await Task.sleep(for: .seconds(1))
            changes.withLock { $0 = [] }
            for mac in [1, 2] {
                try Namespace.command(
                    "ip neigh replace 10.9.0.7 lladdr 02:00:00:00:00:0\(mac) dev wire nud reachable"
                )
            }
            try await eventually("it is reported") { changes.withLock { $0 == [.routes] } }
        }
    }
}
