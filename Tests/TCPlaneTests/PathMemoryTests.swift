// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import HostNetwork
import LabNet
import Netlink
import Synchronization
import Testing
import Tiers

/// Planes that follow one change ask for the ways to its receivers once.
@Suite("The memory of ways to receivers", .tags(.network))
struct PathMemoryTests {
    private let memory = PathMemory()
    private let receivers = Set((1...5).map { IPAddress(v4: 0x0a00_0000 + $0) })

    /// What was asked of the kernel.
    private final class Questions: Sendable {
        let asked = Mutex<[[IPAddress]]>([])

        func answer(_ receivers: [IPAddress]) -> [ReceiverPath?] {
            asked.withLock { $0.append(receivers) }
            // To one of them there is no way.
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

    @Test("answers for another plane, also that there is no way")
    func known() throws {
        let beginning = ContinuousClock.now
        let first = try ask(receivers, since: beginning)
        #expect(first.count == 5)
        #expect(first[IPAddress(v4: 0x0a00_0001)] == .some(nil))
        #expect(try ask(receivers, since: beginning) == first)
        #expect(questions.count == 5)
    }

    @Test("asks for those alone that it has not been asked for")
    func unknown() throws {
        let beginning = ContinuousClock.now
        _ = try ask(receivers, since: beginning)
        let other = IPAddress(v4: 0x0a00_0009)
        #expect(try ask(receivers.union([other]), since: beginning).count == 6)
        #expect(questions.asked.withLock(\.last) == [other])
    }

    @Test("asks again for who wants to know it as it is now")
    func since() throws {
        _ = try ask(receivers, since: .now)
        _ = try ask(receivers, since: .now)
        #expect(questions.count == 10)
    }

    @Test("does not take for new what was made of older answers")
    func older() throws {
        let links = ContinuousClock.now
        let event = ContinuousClock.now
        _ = try ask(receivers, since: links, asking: links)
        _ = try ask(receivers, since: event)
        #expect(questions.count == 10)
    }

    @Test("has those wait who ask for the same at the same time")
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
        "is not asked for what was so before the kernel told of a change",
        .enabled(if: Privilege.isRoot),
        arguments: [
            "ip link add wire type veth peer name erew", "sysctl -qw net.ipv4.ip_forward=1",
        ])
    func watched(change: String) async throws {
        try await Namespace.run(["link set lo up"]) {
            let beginning = ContinuousClock.now
            let moments = Mutex<[ContinuousClock.Instant]>([])
            let watch = try NetworkWatch { moment in
                moments.withLock { $0.append(moment) }
                return true
            }
            #expect(watch.recently >= beginning, "of what was before nobody would be told")
            let before = ContinuousClock.now
            try Namespace.command(change)
            try await eventually("it is told") { moments.withLock { !$0.isEmpty } }
            #expect(moments.withLock { $0[0] } > before)
            #expect(ContinuousClock.now - watch.recently < .milliseconds(100))
            watch.stop()
        }
    }
}
