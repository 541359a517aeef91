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
            "what does not fit into a tiny buffer is one resynchronise, and later changes are told"
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
                    // Who reads the tables now sees all of it, and every change after it has its
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

        @Test("a change that is made as soon as the loss is known is told")
        func changeInTheLoss() async throws {
            try await Wire.run { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.addresses], receiveBufferBytes: 4096) { event in
                    // Before the monitor reads on, as a reader of the tables might meet it.
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

        @Test("while nothing is read, changes wait in order")
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
            "once stop has returned nothing is told any more"
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
                try await other.expect("the other hears") { _ in true }
                #expect(log.events.count == count)
            }
        }

        @Test("a monitor that is let go ends by itself")
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
                try await eventually("its thread has let go of what it called") { left == nil }
                #expect(log.events.isEmpty)
            }
        }

        /// How many threads of this process are a monitor's; tests beside this one have theirs.
        private static func threadsNamedNetlink() throws -> Int {
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            return tasks.filter {
                (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8))
                    == "netlink\n"
            }.count
        }
    }
}
