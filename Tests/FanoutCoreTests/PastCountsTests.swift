// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The counts of receivers that have left", .tags(.unit))
struct PastCountsTests {
    private typealias Past = PastCounts<ReceiverSums>

    private func receiver(_ number: Int) -> Endpoint {
        Endpoint(IPAddress(v4: 0x0a00_0000 + UInt32(number)), port: 9000)
    }

    private func sums(_ packets: UInt64) -> ReceiverSums {
        var sums = ReceiverSums()
        sums.packetsForwarded = packets
        sums.bytesForwarded = 10 * packets
        sums.drops = [.refused: 1]
        return sums
    }

    @Test("are those of the receiver when it comes back")
    func comesBack() {
        var past = Past()
        past.add(sums(5), of: receiver(1))
        past.settle(present: [])
        #expect(past.departed == sums(5))
        past.settle(present: [receiver(1)])
        #expect(past.departed == ReceiverSums())
        #expect(past[receiver(1)] == sums(5))
        past.add(sums(2), of: receiver(1))
        #expect(past[receiver(1)]?.packetsForwarded == 7)
    }

    @Test("are kept one by one for the last to leave, as one sum for the others; nothing is lost")
    func bounded() {
        var past = Past()
        for first in stride(from: 0, to: 5000, by: 250) {
            let present = (first..<first + 250).map { receiver($0) }
            for receiver in present { past.add(sums(1), of: receiver) }
            past.settle(present: present)
            #expect(past.count <= Past.kept + 250)
        }
        past.settle(present: [])
        #expect(past.count == Past.kept)
        #expect(past.departed.packetsForwarded == 5000)
        #expect(past.departed.packetsDropped == 5000)
        #expect(past[receiver(0)] == nil)
        #expect(past[receiver(3700)] == nil, "it left before the last")
        #expect(past[receiver(4100)] == sums(1))
        #expect(past[receiver(4999)] == sums(1))
    }

    @Test("take no memory for receivers that counted nothing")
    func nothing() {
        var past = Past()
        for number in 0..<5000 { past.add(ReceiverSums(), of: receiver(number)) }
        past.settle(present: [])
        #expect(past.count == 0)
        #expect(past == Past())
    }

    @Test("of two objects add up, whichever receivers have left")
    func addUp() {
        var (one, other) = (Past(), Past())
        one.add(sums(1), of: receiver(1))
        other.add(sums(2), of: receiver(1))
        other.add(sums(4), of: receiver(2))
        other.settle(present: [])
        one.add(other)
        one.settle(present: [receiver(1)])
        #expect(one[receiver(1)]?.packetsForwarded == 3)
        #expect(one.departed == sums(4))
    }
}
