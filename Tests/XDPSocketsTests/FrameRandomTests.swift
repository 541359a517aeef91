// SPDX-License-Identifier: Apache-2.0

import CLibXDP
import FanoutCore
import Testing
import Tiers

@testable import XDPSockets

@Suite("Frames under random operations", .tags(.unit))
struct FrameRandomTests {
    @Test(
        "20 000 operations of worker and kernel lose and duplicate no frame",
        arguments: [1, 2, 3] as [UInt64], [0, .max - 1000] as [UInt32])
    func exact(seed: UInt64, start: UInt32) {
        let kernel = KernelInMemory(entries: 32, start: start)
        let worker = WorkerInMemory(kernel, frames: 128)
        var random = Numbers(state: seed)
        var held: [Packet] = []
        var refused = 0
        for step in 0..<20_000 {
            let count = random.below(40)
            switch random.below(9) {
            case 0: worker.fill.refill(from: &worker.store, most: UInt32(count))
            case 1: kernel.takeEmpty(count)
            case 2: kernel.deliver(count)
            case 3: held += worker.takePackets(upTo: UInt32(count))
            case 4:
                for _ in 0..<min(count, held.count) {
                    let packet = held.removeLast()
                    if worker.append(packet) != .appended {
                        refused += 1
                        #expect(worker.put(packet.address))
                    }
                }
            case 5: worker.transmit.publish()
            case 6:
                kernel.takePackets(count)
                kernel.complete(count)
            case 7: worker.completion.drain(into: &worker.store, most: UInt32(count))
            default:
                for _ in 0..<min(count / 8, held.count) {
                    #expect(worker.put(held.removeFirst().address))
                }
            }
            let census = worker.census
            guard census.isExact, census.held == held.count,
                census.inKernel == kernel.empty.count + kernel.sending.count
            else {
                Issue.record("step \(step): \(census)")
                return
            }
            if step % 1000 == 0 { expectRecount(worker.store) }
        }
        #expect(refused > 0, "the transmit ring was never full")
    }

    @Test("with a faulty worker and a faulty kernel, each frame is in one place", arguments: 1...3)
    func abused(seed: Int) {
        let kernel = KernelInMemory(entries: 16)
        let worker = WorkerInMemory(kernel, frames: 64)
        var random = Numbers(state: UInt64(seed))
        for _ in 0..<20_000 {
            // Often past the end, and without regard to the owner of the frame.
            let address = UInt64(random.below(70) * 2048 + random.below(2048))
            switch random.below(8) {
            case 0: _ = worker.put(address)
            case 1: _ = worker.take()
            case 2: worker.fill.refill(from: &worker.store, most: 3)
            case 3:
                kernel.takeEmpty(2)
                kernel.deliver(1)
            case 4:
                if !kernel.receive.isFull {
                    kernel.receive.put(xdp_desc(addr: address, len: 60, options: 0))
                }
            case 5: if !kernel.completion.isFull { kernel.completion.put(address) }
            case 6:
                _ = worker.append(Packet(address: address, bytes: 60))
                worker.transmit.publish()
                kernel.takePackets(1)
            default:
                _ = worker.takePackets()
                worker.completion.drain(into: &worker.store)
            }
        }
        #expect(worker.store.violations > 1000)
        expectRecount(worker.store)
        // The store gives out as many different frames as it counts free.
        let free = worker.store.free
        var given: Set<UInt64> = []
        while let address = worker.store.take() { given.insert(address) }
        #expect(given.count == free)
    }

    /// Checks that counters and frames agree.
    private func expectRecount(_ store: borrowing FrameStore) {
        let places = [FramePlace.free, .held, .receiving(0), .transmitting(0)]
        for place in places {
            #expect(store.accounting.recount(at: place) == store.count(at: place))
        }
        #expect(places.reduce(0) { $0 + store.count(at: $1) } == store.owned)
        #expect(store.free == store.count(at: .free))
    }
}

/// Numbers that are the same in every run (SplitMix64).
private struct Numbers {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ mixed >> 31) % UInt64(limit))
    }
}
