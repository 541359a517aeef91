// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing
import Tiers

@testable import XDPSockets

@Suite("Opening sockets", .tags(.network), .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct OpeningTests {
    @Test("a queue of another socket is refused within the limit, and that socket continues")
    func busy() throws {
        let wire = try Wire()
        try wire.near.enter {
            let first = try Station(on: "near0")
            var settings = XDPSocket.Settings()
            settings.busyLimit = .milliseconds(60)
            let start = ContinuousClock.now
            let error = try #require(throws: XDPSocketError.self) {
                _ = try Station(on: "near0", .small, settings)
            }
            #expect(ContinuousClock.now - start >= .milliseconds(60))
            #expect(error.errno == EBUSY && error.subject == "interface near0 queue 0")
            #expect(error.remedy.contains("another AF_XDP socket has this queue"))
            first.refill()
            #expect(first.census.fill == 256 && first.census.isExact)
        }
    }

    @Test("a released queue can be opened again at once, 20 times over")
    func rebind() throws {
        let wire = try Wire()
        let redirection = try Redirection()
        try wire.near.enter {
            try redirection.attach(to: if_nametoindex("near0"), .native)
            for _ in 0..<20 {
                let station = try Station(on: "near0")
                try redirection.lead(to: station.socket)
                station.refill()
                #expect(station.census.isExact)
            }
        }
    }

    @Test("closed sockets leave no descriptor and no ring behind")
    func nothingLeft() throws {
        let wire = try Wire()
        try Wire.connect(wire.near, "out0", wire.far, "in0")
        try wire.near.enter {
            let before = (Probe.descriptors(), try ringsMapped())
            for _ in 0..<20 {
                let station = try Station(on: "near0")
                station.close(try station.share(with: "out0"))
            }
            // Other tests run at the same time, with a few of both; leaks would be 40 and 160.
            #expect(Probe.descriptors() < before.0 + 30)
            #expect(try ringsMapped() < before.1 + 80)
        }
    }

    @Test(
        "errors explain a missing queue, a missing interface and missing zero copy")
    func refused() throws {
        let wire = try Wire()
        try wire.near.enter {
            let queue = try refusal(queue: 3)
            #expect(queue.errno == EINVAL && queue.remedy.contains("ethtool -l near0"))
            let interface = try refusal(interface: 4711)
            #expect(interface.errno == ENODEV && interface.remedy.contains("ip link show"))
            var settings = XDPSocket.Settings()
            settings.copying = .never
            let copying = try refusal(settings)
            #expect(copying.errno == EOPNOTSUPP, "\(copying)")
            #expect(copying.remedy.contains("do not ask for zero copy"))
            #expect(copying.remedy.contains("ip link set dev near0 mtu 1500"))
        }
    }

    @Test("invalid rings and frames are refused without a system call")
    func shapes() throws {
        for shape in [
            Umem.Shape(frameBytes: 1024), Umem.Shape(frames: 1000), Umem.Shape(frames: 32),
            Umem.Shape(fillEntries: 0), Umem.Shape(completionEntries: 1 << 17),
        ] {
            let error = try #require(throws: XDPSocketError.self) { _ = try Umem(shape) }
            #expect(error.errno == EINVAL && error.operation == "register", "\(error)")
        }
        var settings = XDPSocket.Settings()
        settings.receiveEntries = 100
        #expect(try refusal(settings).reason == "no ring of 100 entries")
    }

    @Test("without privileges the error names the capability")
    func noPrivileges() async throws {
        let error = try await #require(throws: XDPSocketError.self) {
            try await Privilege.without { _ = try Umem(.small) }
        }
        #expect(
            error.description == "register 512 frames of 2048 bytes: EPERM: needs CAP_NET_RAW; "
                + "run as root or grant it")
    }

    @Test("device, memory and wakeups are reported")
    func facts() throws {
        let wire = try Wire()
        try wire.near.enter {
            var settings = XDPSocket.Settings()
            settings.usesWakeups = false
            settings.busyPolling = .init(microseconds: 30, packets: 32)
            let station = try Station(on: "near0", .small, settings)
            let facts = (station.socket.isZeroCopy, station.socket.fill.needsWakeup)
            #expect(facts == (false, false), "a veth copies")
            for (option, value) in [(69, 1), (46, 30)] as [(Int32, Int32)] {
                var set: Int32 = 0
                var size = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(station.socket.descriptor, SOL_SOCKET, option, &set, &size)
                #expect(set == value, "option \(option)")
            }
        }
        try wire.far.enter {
            let station = try Station(on: "far0")
            #expect(station.needsWakeup, "with copying the kernel waits to be woken")
        }
    }

    @Test("frames use huge pages when the pool has enough of them")
    func hugePages() throws {
        let shape = Umem.Shape(frames: 2048)
        let free = try hugePagesFree()
        let umem = try Umem(shape)
        #expect(umem.usesHugePages == (free >= 2), "\(free) are free")
        #expect(Int(bitPattern: umem.base) % 4096 == 0)
    }

    @Test("the error for an MTU above the frame size has the command to fix it")
    func mtu() throws {
        let shape = Umem.Shape()
        #expect(shape.longestPacket == 1792)
        #expect(shape.objection(to: 1770, of: "eth0") == nil)
        let error = try #require(shape.objection(to: 9000, of: "eth0"))
        #expect(error.subject == "interface eth0")
        #expect(error.remedy.contains("ip link set dev eth0 mtu 1770, or frames of 4096 bytes"))
        #expect(Umem.Shape(frameBytes: 4096).objection(to: 1500, of: "eth0") == nil)
    }

    private func refusal(
        _ settings: XDPSocket.Settings = XDPSocket.Settings(), queue: UInt32 = 0,
        interface: UInt32? = nil
    ) throws -> XDPSocketError {
        let interface = interface ?? if_nametoindex("near0")
        return try #require(throws: XDPSocketError.self) {
            _ = try XDPSocket(
                on: InterfaceQueue(interface: interface, queue: queue), using: Umem(.small),
                settings)
        }
    }

    /// The number of rings in this process's memory: four a socket.
    private func ringsMapped() throws -> Int {
        try Shell.output("cat /proc/\(getpid())/maps").split(separator: "\n")
            .count { $0.contains("socket:[") }
    }

    private func hugePagesFree() throws -> Int {
        let line = try Shell.output("grep HugePages_Free /proc/meminfo").split(separator: " ").last
        return try #require(line.flatMap { Int($0.prefix { $0.isNumber }) })
    }
}
