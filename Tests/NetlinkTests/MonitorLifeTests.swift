// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import KernelForwarding
import Testing

extension NetlinkTests {
    @Suite("on changes, when the receiver is slow or leaves")
    struct MonitorLifeTests {
        private static func isAddress(_ event: NetlinkEvent, _ text: String) -> Bool {
            guard case .address(let it, .present) = event else { return false }
            return it.address.description == text
        }

        @Test(
            "events beyond a tiny buffer become one resynchronise, and later changes are reported"
        )
        func overrun() async throws {
            try await Wire.run { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor(
                    [.addresses], receiveBufferBytes: 4096, body: log.take)
                defer { monitor.stop() }
                for round in 1...3 {
                    log.hold()
                    let before = log.events.count
                    try Namespace.ip("addr add 10.\(round).0.1/32 dev near")
                    try await eventually("the receiver is busy") { log.isWaiting }
                    for host in 2...60 {
                        try Namespace.ip("addr add 10.\(round).0.\(host)/32 dev near")
                    }
                    log.letGo()
                    try await eventually("it learns of the loss") {
                        log.count { $0 == .resynchronise } == round
                    }
                    // A later read of the tables has every earlier change, and each change after it has an
                    // event.
                    var netlink = try Netlink()
                    let near = try #require(try netlink.link(named: "near")).index
                    #expect(try netlink.addresses(of: near).count >= 60 * round)
                    let last = "10.\(round).1.1"
                    try Namespace.ip("addr add \(last)/32 dev near")
                    try await log.expect("the change after it") { Self.isAddress($0, last) }
                    #expect(log.events.count < before + 60)
                    #expect(log.events.last.map { Self.isAddress($0, last) } == true)
                }
                #expect(log.count { $0 == .resynchronise } == 3)
            }
        }

        @Test("a change right after the loss is reported")
        func changeInTheLoss() async throws {
            try await Wire.run { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.addresses], receiveBufferBytes: 4096) { event in
                    // Before the monitor reads on, as a reader of the tables might do.
                    if event == .resynchronise {
                        try? Namespace.ip("addr add 10.9.0.1/32 dev near")
                    }
                    log.take(event)
                }
                defer { monitor.stop() }
                log.hold()
                try Namespace.ip("addr add 10.0.0.1/32 dev near")
                try await eventually("the receiver is busy") { log.isWaiting }
                for host in 2...60 { try Namespace.ip("addr add 10.0.0.\(host)/32 dev near") }
                log.letGo()
                try await log.expect("that change") { Self.isAddress($0, "10.9.0.1") }
                #expect(log.count { $0 == .resynchronise } == 1)
            }
        }

        @Test("unread changes wait in order")
        func waiting() async throws {
            try await Wire.run { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.addresses], body: log.take)
                defer { monitor.stop() }
                log.hold()
                try Namespace.ip("addr add 10.0.0.1/32 dev near")
                try await eventually("the receiver is busy") { log.isWaiting }
                for host in 2...40 { try Namespace.ip("addr add 10.0.0.\(host)/32 dev near") }
                log.letGo()
                try await log.expect("the last") { Self.isAddress($0, "10.0.0.40") }
                #expect(log.events.count == 40)
                #expect(zip(log.events, 1...).allSatisfy { Self.isAddress($0, "10.0.0.\($1)") })
            }
        }

        @Test(
            "after stop has returned there are no more events"
        )
        func stop() async throws {
            try await Wire.run { _ in
                let before = try Self.threadsNamedNetlink()
                let log = EventLog()
                let monitor = try NetlinkMonitor([.addresses], body: log.take)
                try await eventually("its thread runs") { try Self.threadsNamedNetlink() > before }
                try Namespace.ip("addr add 10.0.0.1/32 dev near")
                try await log.expect("one event") { _ in true }
                monitor.stop()
                monitor.stop()
                let count = log.events.count
                try Namespace.ip("addr add 10.0.0.2/32 dev near")
                let other = EventLog()
                let second = try NetlinkMonitor([.addresses], body: other.take)
                defer { second.stop() }
                try Namespace.ip("addr add 10.0.0.3/32 dev near")
                try await other.expect("the other monitor gets an event") { _ in true }
                #expect(log.events.count == count)
            }
        }

        @Test("a released monitor ends by itself")
        func release() async throws {
            try await Wire.run { _ in
                let log = EventLog()
                weak var left: EventLog?
                do {
                    let dropped = EventLog()
                    left = dropped
                    let monitor = try NetlinkMonitor([.addresses]) { dropped.take($0) }
                    withExtendedLifetime(monitor) {}
                }
                try await eventually("its thread has released the callback") { left == nil }
                #expect(log.events.isEmpty)
            }
        }

        /// The number of threads of this process that are a monitor's; other tests have theirs.
        private static func threadsNamedNetlink() throws -> Int {
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            return tasks.filter {
                (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8))
                    == "netlink\n"
            }.count
        }
    }
}
