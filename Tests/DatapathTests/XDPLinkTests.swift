// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import Glibc
import KernelForwarding
import KernelPrograms
import LabNet
import Testing
import Tiers

@Suite(
    "Programs at the XDP hook", .tags(.network),
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"),
    .takesSteering)
struct XDPLinkTests {
    /// Two networks and a veth between them, `a0` and `b0`.
    struct Veth {
        let near: Network
        let far: Network

        init(mtu: Int = 1500) throws {
            (near, far) = (try Network(), try Network())
            try near.ip("link add a0 type veth peer name b0 netns \(far.path)")
            try near.ip("link set a0 mtu \(mtu) up")
            try far.ip("link set b0 mtu \(mtu) up")
        }
    }

    /// A foreign program of type XDP that accepts only packets in one buffer.
    private static func program() throws -> BPFProgram {
        var object = try BPFObject(opening: .flowKey)
        try object.load()
        return try object.program(named: "lb_flow_key")
    }

    private static func steer() throws -> HookProgram {
        var object = try BPFObject(opening: .xdpSteer)
        try object.load()
        return try HookProgram(xdp: "udp_fanout_xdp", of: object)
    }

    /// Attaches in the driver, and in the network stack if the driver refuses.
    private func attach(_ program: HookProgram, to interface: UInt32) throws -> PinnedHook {
        let hook = PinnedHook(HostInterface(index: interface, name: "a0"))
        try hook.replace(with: program, trying: [.native, .skb])
        return hook
    }

    @Test("a veth's driver takes a program, and loses it with the link")
    func native() throws {
        let veth = try Veth()
        try veth.near.enter {
            let interface = if_nametoindex("a0")
            #expect(try XDPOccupant.of(interface: interface) == nil)
            let number = try attachForAMoment(to: interface)
            #expect(number != 0)
            #expect(try XDPOccupant.of(interface: interface) == nil)
        }
    }

    private func attachForAMoment(to interface: UInt32) throws -> UInt32 {
        let hook = try attach(Self.steer(), to: interface)
        #expect(hook.mode == .native && hook.refusal == nil)
        let occupant = try #require(try XDPOccupant.of(interface: interface))
        #expect(occupant.mode == .native && occupant.name == "udp_fanout_xdp")
        return occupant.number
    }

    @Test("when the driver refuses, the network stack takes it, and the error names the remedy")
    func fallback() throws {
        let veth = try Veth(mtu: 9000)
        try veth.near.enter {
            let interface = if_nametoindex("a0")
            let one = try HookProgram(native: Self.program(), skb: Self.program())
            let hook = try attach(one, to: interface)
            #expect(hook.mode == .skb)
            let refusal = try #require(hook.refusal)
            #expect(refusal.errno == ERANGE && refusal.subject.hasSuffix("(native)"), "\(refusal)")
            #expect(refusal.remedy.contains("ip link set dev a0 mtu 1500"))
            #expect(try XDPOccupant.of(interface: interface)?.mode == .skb)
        }
    }

    @Test("the AF_XDP program attaches at an MTU of 9000, a single-buffer program does not")
    func jumbo() throws {
        let veth = try Veth(mtu: 9000)
        try veth.near.enter {
            let interface = if_nametoindex("a0")
            let error = try #require(throws: BPFError.self) {
                _ = try HookLink(attaching: Self.program(), to: interface, .native)
            }
            #expect(error.errno == ERANGE, "\(error)")
            #expect(error.remedy.contains("ip link set dev a0 mtu 1500"))
            #expect(try attach(Self.steer(), to: interface).mode == .native)
        }
    }

    @Test(
        "another program is refused with its name and number, and stays",
        arguments: [HookMode.native, .skb])
    func occupied(mode: HookMode) throws {
        let veth = try Veth()
        try veth.near.enter {
            let interface = if_nametoindex("a0")
            let theirs = try HookLink(attaching: Self.program(), to: interface, mode)
            let occupant = try #require(try XDPOccupant.of(interface: interface))
            let error = try #require(throws: BPFError.self) {
                _ = try attach(Self.steer(), to: interface)
            }
            #expect(
                error.reason == "the XDP program lb_flow_key (number \(occupant.number), "
                    + "\(mode.rawValue)) of another tool is there")
            #expect(error.errno == EBUSY && error.remedy.contains("bpftool net show dev a0"))
            #expect(try XDPOccupant.of(interface: interface) == occupant)
            #expect(theirs.interface == interface)
        }
    }

    @Test("a pinned link outlives its owner; the next owner opens it and replaces the program")
    func adoption() throws {
        let (veth, pins) = (try Veth(), try BPFFileSystem())
        try veth.near.enter {
            let interface = if_nametoindex("a0")
            let path = "\(pins.path)/xdp_link"
            #expect(try isAbsent(path))
            let first = try attachPinned(to: interface, path)
            // A kill leaves the pin, and the program behind it.
            #expect(try XDPOccupant.of(interface: interface)?.number == first)
            // The program cannot be detached by mistake.
            #expect(throws: CommandFailed.self) {
                try Namespace.command("ip link set dev a0 xdp off")
            }
            try adopt(path, on: interface, after: first)
            #expect(try XDPOccupant.of(interface: interface) == nil)
        }
    }

    private func isAbsent(_ path: String) throws -> Bool { try HookLink.pinned(at: path) == nil }

    private func attachPinned(to interface: UInt32, _ path: String) throws -> UInt32 {
        let link = try HookLink(attaching: Self.steer(), to: interface, .native)
        try link.pin(at: path)
        return try #require(try XDPOccupant.of(interface: interface)).number
    }

    private func adopt(_ path: String, on interface: UInt32, after first: UInt32) throws {
        guard let link = try HookLink.pinned(at: path) else {
            Issue.record("no link at \(path)")
            return
        }
        #expect(link.interface == interface && link.mode == .native)
        try link.replace(with: Self.steer())
        let second = try #require(try XDPOccupant.of(interface: interface))
        #expect(second.number != first && second.name == "udp_fanout_xdp")
        try link.detach()
    }

    @Test("a link of a deleted interface counts as none")
    func interfaceGone() throws {
        let (veth, pins) = (try Veth(), try BPFFileSystem())
        try veth.near.enter {
            let path = "\(pins.path)/xdp_link"
            _ = try attachPinned(to: if_nametoindex("a0"), path)
            try Namespace.ip("link del a0")
            #expect(try isAbsent(path))
        }
    }

    @Test("the error names a missing interface")
    func missing() throws {
        let error = try #require(throws: BPFError.self) {
            _ = try attach(Self.steer(), to: 4711)
        }
        #expect(error.errno == ENODEV && error.remedy.contains("no such interface"), "\(error)")
    }

    @Test("a map of sockets takes only sockets, up to its capacity")
    func sockets() throws {
        var object = try BPFObject(opening: .xdpSteer)
        try object.size("xsks", entries: 2)
        try object.load()
        let map = try object.map(named: "xsks")
        let other = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(other) }
        let wrong = try #require(throws: BPFError.self) { try map.steer(queue: 0, to: other) }
        #expect(wrong.remedy.contains("AF_XDP socket"), "\(wrong)")
        let beyond = try #require(throws: BPFError.self) { try map.steer(queue: 2, to: other) }
        #expect(beyond.remedy == "the map has room for 2 queues", "\(beyond)")
    }
}
