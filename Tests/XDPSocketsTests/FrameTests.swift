// SPDX-License-Identifier: Apache-2.0

import CLibXDP
import FanoutCore
import Testing
import Tiers

@testable import XDPSockets

@Suite("Owners of frames", .tags(.network))
struct FrameTests {
    @Test("a store gives out every frame once")
    func everyFrame() {
        var store = FrameStore(frames: 64, frameBytes: 4096)
        var given: Set<UInt64> = []
        while let address = store.take() { given.insert(address) }
        #expect(given == Set((0..<64).map { UInt64($0 * 4096) }))
        #expect(store.free == 0 && store.count(at: .held) == 64 && store.violations == 0)
    }

    @Test("a frame is returned by any address in it, and taken at its start")
    func anyAddress() throws {
        let worker = WorkerInMemory(KernelInMemory(entries: 8), frames: 64)
        let address = try #require(worker.take())
        #expect(worker.put(address + 2047))
        #expect(worker.take() == address)
    }

    @Test("a frame that the worker does not hold is refused, and counted")
    func notHeld() throws {
        let kernel = KernelInMemory(entries: 8)
        let worker = WorkerInMemory(kernel, frames: 64)
        let address = try #require(worker.take())
        #expect(worker.put(address))
        #expect(!worker.put(address), "twice")
        #expect(!worker.put(64 * 2048), "past the end")
        #expect(!worker.put(.max))
        worker.fill.refill(from: &worker.store, most: 1)
        let lent = try #require(kernel.fill.next())
        #expect(!worker.put(lent), "lent to the kernel")
        #expect(worker.store.violations == 4 && worker.store.free == 63)
        #expect(!worker.census.isExact && worker.census.sum == 64)
    }

    @Test("a packet that the kernel would drop is refused for sending")
    func invalidPackets() throws {
        let kernel = KernelInMemory(entries: 2)
        let worker = WorkerInMemory(kernel, frames: 64)
        let address = try #require(worker.take())
        for (offset, bytes) in [(0, 0), (0, 2049), (2047, 2), (1, 2048)] as [(UInt64, UInt32)] {
            let packet = Packet(address: address + offset, bytes: bytes)
            #expect(worker.append(packet) == .invalid)
        }
        #expect(worker.census.isExact && worker.census.held == 1)
        // The last byte of the frame may be used.
        let longest = Packet(address: address, bytes: 2048)
        #expect(worker.append(longest) == .appended)
        #expect(worker.append(longest) == .invalid, "no longer held")
        #expect(worker.store.violations == 1)
    }

    @Test("a packet that a full transmit ring refuses stays with the worker")
    func fullTransmitRing() throws {
        let kernel = KernelInMemory(entries: 2)
        let worker = WorkerInMemory(kernel, frames: 64)
        for expected in [TransmitRing.Appended.appended, .appended, .full] {
            let packet = Packet(address: try #require(worker.take()), bytes: 60)
            #expect(worker.append(packet) == expected)
        }
        let census = worker.census
        #expect(census.isExact && census.transmit == 2 && census.held == 1 && census.free == 61)
    }

    @Test("a packet's frame goes round: fill, receive, held, transmit, completion, free")
    func round() {
        let kernel = KernelInMemory(entries: 8)
        let worker = WorkerInMemory(kernel, frames: 64)
        #expect(worker.fill.refill(from: &worker.store) == 8)
        #expect(worker.census.fill == 8 && worker.census.free == 56)
        kernel.takeEmpty(3)
        #expect(worker.census.inKernel == 3 && worker.census.fill == 5)
        kernel.deliver(3)
        #expect(worker.census.receive == 3 && worker.census.inKernel == 0)
        let packets = worker.takePackets()
        #expect(packets.count == 3 && worker.census.held == 3)
        for packet in packets {
            #expect(worker.append(packet) == .appended)
        }
        worker.transmit.publish()
        #expect(worker.census.transmit == 3)
        kernel.takePackets(3)
        kernel.complete(2)
        #expect(worker.census.completion == 2 && worker.census.inKernel == 1)
        #expect(worker.completion.drain(into: &worker.store) == 2)
        #expect(worker.census.isExact && worker.census.free == 58, "\(worker.census)")
    }

    @Test("frames that a kernel returns wrongly are neither duplicated nor lost")
    func wrongKernel() {
        let kernel = KernelInMemory(entries: 8)
        let worker = WorkerInMemory(kernel, frames: 64)
        worker.fill.refill(from: &worker.store, most: 2)
        // A packet in a frame that was not lent, a completion of one that was not sent, one past the end.
        kernel.receive.put(xdp_desc(addr: 0x1_f000, len: 60, options: 0))
        kernel.completion.put(0)
        kernel.completion.put(1 << 40)
        for packet in worker.takePackets() { #expect(!worker.put(packet.address)) }
        #expect(worker.completion.drain(into: &worker.store) == 2)
        #expect(worker.store.violations == 4)
        #expect(worker.store.free == 62 && worker.census.sum == 64)
        var given: Set<UInt64> = []
        while let address = worker.store.take() { #expect(given.insert(address).inserted) }
        #expect(given.count == 62)
    }

    @Test("a closed socket's frames come back from every place")
    func reclaimed() throws {
        let kernel = KernelInMemory(entries: 8)
        let worker = WorkerInMemory(kernel, frames: 64)
        worker.fill.refill(from: &worker.store)
        kernel.takeEmpty(4)
        kernel.deliver(2)
        for packet in worker.takePackets() {
            #expect(worker.append(packet) == .appended)
        }
        let held = try #require(worker.take())
        worker.store.reclaim(from: 1)
        #expect(worker.store.free == 55, "another socket's number takes nothing")
        worker.store.reclaim(from: 0)
        #expect(worker.store.free == 63 && worker.put(held))
        #expect(worker.store.violations == 0)
    }
}
