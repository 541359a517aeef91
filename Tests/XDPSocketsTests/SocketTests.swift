// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

@testable import XDPSockets

@Suite(
    "Sockets on veths", .tags(.network), .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct SocketTests {
    @Test("frames that one socket sends another receives", arguments: Redirection.Mode.allCases)
    func crossing(mode: Redirection.Mode) async throws {
        let wire = try Wire()
        let redirection = try Redirection()
        let near = try wire.near.enter {
            let near = try Station(on: "near0")
            try redirection.attach(to: if_nametoindex("near0"), mode)
            try redirection.lead(to: near.socket)
            return near
        }
        let far = try wire.far.enter { try Station(on: "far0") }
        near.refill()
        for mark in 0..<10 as Range<UInt8> {
            let frames = Wire.frames(32, bytes: 60 + Int(mark) * 150, mark: mark)
            #expect(try far.send(frames) == .done)
            #expect(try await near.receive(32) == frames)
            #expect(near.census.isExact, "\(near.census)")
            try await eventually("all are completed") {
                far.socket.completion.drain(into: &far.store)
                return far.store.free == far.store.owned
            }
        }
        #expect(far.census.isExact && far.store.count(at: .transmitting(0)) == 0)
        #expect(try near.socket.statistics().receiveDropped == 0)
        #expect(try far.socket.statistics().transmitInvalid == 0)
        // At rest the kernel holds no frame.
        #expect(near.census.fill + near.census.free == 512, "\(near.census)")
    }

    /// In the network stack a packet from a veth has the queue number minus one: the kernel reads it as a recorded
    /// number (net/core/dev.c, netif_get_rxqueue). So all but one arrive at another queue.
    @Test(
        "each queue has a socket of its own, and gets its packets in the driver",
        arguments: Redirection.Mode.allCases)
    func queues(mode: Redirection.Mode) async throws {
        let wire = try Wire(queues: 4)
        let redirection = try Redirection()
        let near = try wire.near.enter {
            try redirection.attach(to: if_nametoindex("near0"), mode)
            return try (0..<4).map { queue in
                let station = try Station(on: "near0", queue: UInt32(queue))
                try redirection.lead(to: station.socket)
                station.refill()
                return station
            }
        }
        let far = try wire.far.enter {
            try (0..<4).map { try Station(on: "far0", queue: UInt32($0)) }
        }
        for (number, station) in far.enumerated() {
            #expect(try station.send(Wire.frames(20, mark: UInt8(number))) == .done)
        }
        var arrived = [[[UInt8]]](repeating: [], count: 4)
        try await eventually("all arrive") {
            for (number, station) in near.enumerated() { arrived[number] += station.take() }
            return arrived.reduce(0) { $0 + $1.count } == 80
        }
        let sent = (0..<4).map { Wire.frames(20, mark: UInt8($0)) }
        #expect(Set(arrived.joined()) == Set(sent.joined()))
        if mode == .native { #expect(arrived == sent) }
        #expect(near.allSatisfy { $0.census.isExact && $0.take().isEmpty })
    }

    @Test("a packet leaves by another interface in the frame it arrived in")
    func sharedMemory() async throws {
        let wire = try Wire()
        let third = try Network()
        try Wire.connect(wire.near, "out0", third, "in0")
        let redirection = try Redirection()
        let (near, out) = try wire.near.enter {
            let near = try Station(on: "near0")
            try redirection.attach(to: if_nametoindex("near0"), .native)
            try redirection.lead(to: near.socket)
            return (near, try near.share(with: "out0"))
        }
        let beyond = try Redirection()
        let receiver = try third.enter {
            let receiver = try Station(on: "in0")
            try beyond.attach(to: if_nametoindex("in0"), .native)
            try beyond.lead(to: receiver.socket)
            return receiver
        }
        let far = try wire.far.enter { try Station(on: "far0") }
        near.refill()
        receiver.refill()
        var arrived: [[UInt8]] = []
        for mark in 0..<10 as Range<UInt8> {
            #expect(try far.send(Wire.frames(32, mark: mark)) == .done)
            try await eventually("all go through") {
                far.socket.completion.drain(into: &far.store)
                near.passOn(by: out)
                #expect(near.census.isExact, "\(near.census)")
                arrived += receiver.take()
                return arrived.count == 32 * (Int(mark) + 1)
            }
            #expect(arrived.suffix(32) == Wire.frames(32, mark: mark)[...])
        }
        // Frames at the second socket when it closes are not lost.
        #expect(out.socket?.fill.refill(from: &near.store, most: 100) == 100)
        #expect(near.census.isExact)
        near.close(out)
        #expect(near.census.isExact && near.store.violations == 0)
        #expect(near.census.fill + near.census.free == 512, "\(near.census)")
        // And its queue can be opened again.
        let again = try wire.near.enter { try near.share(with: "out0") }
        #expect(again.socket?.number == 1)
    }

    @Test("an interface that is down keeps the packets until it is up")
    func down() async throws {
        let wire = try Wire()
        let redirection = try Redirection()
        let near = try wire.near.enter {
            let near = try Station(on: "near0")
            try redirection.attach(to: if_nametoindex("near0"), .native)
            try redirection.lead(to: near.socket)
            return near
        }
        let far = try wire.far.enter { try Station(on: "far0") }
        near.refill()
        try wire.far.ip("link set far0 down")
        #expect(try far.send(Wire.frames(5)) == .failed(ENETDOWN))
        #expect(far.census.isExact && far.census.transmit == 5, "\(far.census)")
        try wire.far.ip("link set far0 up")
        try await eventually("the kernel takes them") { far.socket.wakeTransmitter() == .done }
        #expect(try await near.receive(5) == Wire.frames(5))
        try await eventually("all are completed") {
            far.socket.completion.drain(into: &far.store)
            return far.store.free == 512
        }
    }

    @Test("the kernel drops and counts packets without a free frame, and too long ones")
    func dropped() async throws {
        let wire = try Wire()
        try wire.near.ip("link set near0 mtu 3000")
        try wire.far.ip("link set far0 mtu 3000")
        let redirection = try Redirection()
        let near = try wire.near.enter {
            let near = try Station(on: "near0")
            try redirection.attach(to: if_nametoindex("near0"), .native)
            try redirection.lead(to: near.socket)
            return near
        }
        let far = try wire.far.enter {
            try Station(on: "far0", Umem.Shape(frameBytes: 4096, frames: 512))
        }
        #expect(try far.send(Wire.frames(3)) == .done)
        try await eventually("they are counted") {
            try near.socket.statistics().fillRingEmpty >= 3
        }
        near.refill()
        let longest = Umem.Shape.small.longestPacket
        #expect(try far.send(Wire.frames(2, bytes: longest + 1)) == .done)
        try await eventually("they are counted") {
            try near.socket.statistics().receiveDropped >= 2
        }
        #expect(try far.send(Wire.frames(2, bytes: longest)) == .done)
        #expect(try await near.receive(2) == Wire.frames(2, bytes: longest))
        #expect(near.census.isExact, "\(near.census)")
    }

    @Test("a socket sleeps until there is a packet")
    func sleeping() async throws {
        let wire = try Wire()
        let redirection = try Redirection()
        let near = try wire.near.enter {
            let near = try Station(on: "near0")
            try redirection.attach(to: if_nametoindex("near0"), .native)
            try redirection.lead(to: near.socket)
            return near
        }
        let far = try wire.far.enter { try Station(on: "far0") }
        near.refill()
        let early = near.socket.awaitPackets(milliseconds: 0)
        #expect(early == .time)
        #expect(try far.send(Wire.frames(1)) == .done)
        let there = near.socket.awaitPackets(milliseconds: 10_000)
        #expect(there == .packets && near.take() == Wire.frames(1))
    }
}
