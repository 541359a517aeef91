// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import ReusePortLB
import Synchronization
import Testing

extension ReusePortTests {
    @Suite("Groups and memberships")
    struct GroupTests {}
}

extension ReusePortTests.GroupTests {
    @Test("a group keeps its settings, and every process that opens it sees them")
    func info() throws {
        let place = try Place()
        let endpoint = try Endpoint.free()
        let made = try place.group(count: 5, key: .fourTuple, seed: 99)
        #expect(try made.info().address == nil)
        let socket = try ReusePortSocket(boundTo: endpoint)
        let membership = try made.join(socket, slot: 4)
        let again = try ReusePortGroup("g", place.options(existingOnly: true))
        let info = try again.info()
        #expect(info.count == 5 && info.key == .fourTuple && info.seed == 99)
        #expect(info.address == endpoint && info.abi == ReusePortGroup.abiVersion)
        #expect(socket.endpoint == endpoint)
        let member = try #require(try again.members().first)
        #expect(try again.members().count == 1)
        #expect(member.slot == 4 && member.transport == .udp && member.cookie == socket.cookie)
        #expect(member.pid == getpid() && member.uid == geteuid())
        let age = WallClock.now.secondsSinceEpoch - Double(member.joinedNanoseconds ?? 0) / 1e9
        #expect((0...60).contains(age))
        try membership.leave()
        #expect(try again.members() == [])
    }

    @Test("a membership ends with its scope; the socket can join again")
    func scope() throws {
        let group = try Place().group(count: 1)
        let socket = try ReusePortSocket(boundTo: try .free())
        do {
            let membership = try group.join(socket, slot: 0)
            #expect(membership.slot == 0)
            #expect(try group.members().count == 1)
        }
        #expect(try group.members() == [])
        let again = try group.join(socket, slot: 0)
        #expect(try group.members().count == 1)
        try again.leave()
    }

    @Test("a membership keeps its socket and its group open")
    func lifetime() throws {
        let place = try Place()
        let endpoint = try Endpoint.free()
        do {
            let holder = Holder(try join(place, endpoint))
            let look = try ReusePortGroup("g", place.options(existingOnly: true))
            #expect(try look.members().count == 1)
            try holder.membership.leave()
            #expect(try look.members() == [])
            #expect(Probe.udpSockets(at: endpoint.port) == 1)
        }
        #expect(Probe.udpSockets(at: endpoint.port) == 0)
    }

    /// As a service of a program keeps a membership.
    private final class Holder: Sendable {
        let membership: Membership

        init(_ membership: consuming Membership) { self.membership = membership }
    }

    private func join(_ place: Place, _ endpoint: Endpoint) throws -> Membership {
        let group = try place.group(count: 1)
        return try group.join(try ReusePortSocket(boundTo: endpoint), slot: 0)
    }

    @Test("a caller's descriptor that was closed and reused is not removed from its slot")
    func recycled() throws {
        let group = try Place().group(count: 2)
        let endpoint = try Endpoint.free()
        let first = try ReusePortSocket(boundTo: endpoint)
        let descriptor = dup(first.descriptor)
        let old = try group.join(descriptor: descriptor, slot: 0)
        // The same number, another socket.
        let second = try ReusePortSocket(boundTo: endpoint)
        dup2(second.descriptor, descriptor)
        let new = try group.join(descriptor: descriptor, slot: 1)
        try old.leave()
        #expect(try group.members().map(\.slot).contains(1))
        try new.leave()
        close(descriptor)
    }

    @Test("a private group works like any other and leaves nothing behind")
    func privately() throws {
        let group = try ReusePortGroup(private: GroupOptions(count: 2))
        #expect(group.name == nil)
        let members = try Members(group, count: 2, on: try .free())
        try Spray(to: members.endpoint).send(from: IPAddress.v4Sources(10))
        let prediction = Prediction(count: 2)
        let homes = try members.homes()
        for (source, slot) in homes { #expect(prediction.slot(of: source) == slot) }
        #expect(homes.count == 10)
        #expect(try Sums(group) == Sums(selected: 10))
    }

    @Test("groups below a root are listed by name until they are destroyed")
    func pinned() throws {
        let place = try Place()
        #expect(try ReusePortGroup.pinned(below: place.pins.path) == [])
        _ = try place.group("b", count: 1)
        _ = try place.group("a", count: 1)
        mkdir("\(place.pins.path)/other", 0o755)
        let found = try ReusePortGroup.pinned(below: place.pins.path)
        #expect(found.map(\.name) == ["a", "b"] && found.allSatisfy(\.isReadable))
        try ReusePortGroup.destroy("a", pinRoot: place.pins.path)
        #expect(try ReusePortGroup.pinned(below: place.pins.path).map(\.name) == ["b"])
        #expect(place.pins.pins("a") == [])
    }

    @Test("attach lets the program choose among sockets that another process has bound")
    func attach() throws {
        let group = try Place().group(count: 1)
        let endpoint = try Endpoint.free()
        let socket = try ReusePortSocket(boundTo: endpoint)
        try group.attach(descriptor: socket.descriptor)
        try Spray(to: endpoint).send(from: IPAddress.v4Sources(3))
        #expect(try Sums(group) == Sums(missed: 3, left: 3))
    }

    @Test("the log gets the kernel's reason when it refuses a program")
    func log() throws {
        let lines = Lines()
        var options = GroupOptions(count: 1)
        options.object = Array("no object".utf8)
        options.log = { level, line in lines.add(level, line) }
        do {
            _ = try ReusePortGroup(private: options)
            Issue.record("an invalid program was loaded")
        } catch {
            #expect(error.code == .programRefused || error.code == .invalid, "\(error)")
        }
        #expect(lines.all.contains { $0.contains("ELF") || $0.contains("elf") }, "\(lines.all)")
    }

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ level: GroupOptions.LogLevel, _ line: String) {
            lines.withLock { $0.append(line) }
        }
    }

    @Test("a receive buffer is granted as requested, and reported in the same unit")
    func buffer() throws {
        let socket = try ReusePortSocket(boundTo: try .free(), receiveBuffer: 3_000_000)
        #expect(socket.receiveBuffer == 3_000_000)
        #expect(socket.kernelDrops == 0)
    }
}
