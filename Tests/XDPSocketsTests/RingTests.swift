// SPDX-License-Identifier: Apache-2.0

import CLibXDP
import Testing
import Tiers

@testable import XDPSockets

/// Two ends over one memory: the peer of a fill ring is a completion ring, that of a transmit ring a receive ring.
@Suite("Rings", .tags(.network))
struct RingTests {
    /// Indexes of the first entry: ring indexes count past their size, and past 2^32.
    static let starts: [UInt32] = [0, 5, .max - 3, .max]

    @Test("entries of a fill ring come out at the other end, in order", arguments: starts)
    func addresses(start: UInt32) {
        let memory = RingMemory<UInt64>(size: 8, of: 0, start: start)
        var near = FillRing(owning: memory.producing(), socket: 0)
        var far = CompletionRing(owning: memory.consuming(), socket: 0)
        var (sent, received): ([UInt64], [UInt64]) = ([], [])
        for round in 0..<20 {
            let range = near.reserve(upTo: UInt32(round % 9))
            #expect(range.count == UInt32(round % 9))
            for offset in 0..<range.count {
                sent.append(UInt64(sent.count) * 2048)
                near.set(sent[sent.count - 1], at: range[offset])
            }
            near.submit(range.count)
            let seen = far.peek(upTo: .max)
            for offset in 0..<seen.count { received.append(far.address(at: seen[offset])) }
            far.release(seen.count)
        }
        #expect(sent.count > 60 && received == sent)
        #expect(near.waiting == 0 && far.waiting == 0)
    }

    @Test("packets go from a transmit to a receive ring with their lengths", arguments: starts)
    func packets(start: UInt32) {
        let memory = RingMemory(
            size: 4, of: xdp_desc(addr: 0, len: 0, options: 0), start: start)
        var near = TransmitRing(owning: memory.producing(), socket: 0)
        var far = ReceiveRing(owning: memory.consuming(), socket: 1)
        var store = FrameStore(frames: 64, frameBytes: 2048)
        for round in 0..<10 {
            var sent: [Packet] = []
            for number in 0..<UInt32(round % 5) {
                guard let address = store.take() else { break }
                let packet = Packet(address: address + 7, bytes: 60 + number)
                let outcome = near.append(packet, of: &store)
                #expect(outcome == .appended)
                sent.append(packet)
            }
            #expect(far.waiting == 0, "not before they are published")
            #expect(near.unpublished == sent.count && near.publish() == UInt32(sent.count))
            let seen = far.peek(upTo: .max)
            #expect((0..<seen.count).map { far.packet(at: seen[$0]) } == sent)
            #expect(far.waiting == 0 && far.unread == sent.count, "not before it is released")
            far.release(seen.count)
            #expect(far.unread == 0)
        }
    }

    @Test("a full ring takes nothing until the other end has released entries", arguments: starts)
    func full(start: UInt32) {
        let memory = RingMemory<UInt64>(size: 4, of: 0, start: start)
        var near = FillRing(owning: memory.producing(), socket: 0)
        var far = CompletionRing(owning: memory.consuming(), socket: 0)
        #expect(near.reserve(upTo: 9).count == 4)
        near.submit(4)
        #expect(near.reserve(upTo: 1).count == 0 && near.waiting == 4)
        // Peeking does not free entries.
        #expect(far.peek(upTo: 3).count == 3)
        #expect(near.reserve(upTo: 1).count == 0)
        far.release(2)
        #expect(near.reserve(upTo: 9).count == 2)
    }

    @Test("an empty ring gives nothing, and reserved entries are not visible", arguments: starts)
    func empty(start: UInt32) {
        let memory = RingMemory<UInt64>(size: 4, of: 0, start: start)
        var near = FillRing(owning: memory.producing(), socket: 0)
        var far = CompletionRing(owning: memory.consuming(), socket: 0)
        #expect(far.peek(upTo: 4).count == 0)
        let range = near.reserve(upTo: 2)
        #expect(far.peek(upTo: 4).count == 0)
        near.set(1, at: range[0])
        near.set(2, at: range[1])
        near.submit(1)
        #expect(far.peek(upTo: 4).count == 1)
        #expect(far.peek(upTo: 4).count == 0, "the same entry is seen once")
        near.submit(1)
        #expect(far.peek(upTo: 4).count == 1)
    }

    @Test("a flag of the kernel is visible at once")
    func wakeup() {
        let memory = RingMemory<UInt64>(size: 4, of: 0)
        let packets = RingMemory(size: 4, of: xdp_desc(addr: 0, len: 0, options: 0))
        let fill = FillRing(owning: memory.producing(), socket: 0)
        let transmit = TransmitRing(owning: packets.producing(), socket: 0)
        var seen = (fill.needsWakeup, transmit.needsWakeup)
        #expect(seen == (false, false))
        memory.flags.pointee = UInt32(XDP_RING_NEED_WAKEUP)
        seen = (fill.needsWakeup, transmit.needsWakeup)
        #expect(seen == (true, false))
        packets.flags.pointee = UInt32(XDP_RING_NEED_WAKEUP)
        memory.flags.pointee = 0
        seen = (fill.needsWakeup, transmit.needsWakeup)
        #expect(seen == (false, true))
    }

    @Test("a ring reports its number of entries")
    func capacity() {
        let kernel = KernelInMemory(entries: 16)
        let worker = WorkerInMemory(kernel, frames: 64)
        #expect(worker.fill.capacity == 16 && worker.completion.capacity == 16)
        #expect(worker.receive.capacity == 16 && worker.transmit.capacity == 16)
    }
}
