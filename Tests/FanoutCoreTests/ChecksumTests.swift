// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

/// lb/checksum.h, held against sums over all words (RFC 1071).
@Suite("Checksums that follow a change", .tags(.unit))
struct ChecksumTests {
    @Test("100 000 changes give the checksum that all words sum up to, or its other spelling of 0")
    func recomputed() {
        var random = SplitMix64(seed: 1)
        for number in 0..<100_000 {
            var words = (0..<12).map { _ in UInt32(truncatingIfNeeded: random.word()) }
            let before = checksum(words)
            var steps: UInt64 = 0
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: words.indices, using: &random)
                let next = UInt32(truncatingIfNeeded: random.word())
                steps += lb_csum_step(words[place], next)
                words[place] = next
            }
            let updated = lb_csum_update(before, steps)
            // A sum of zeros alone is +0, which no step leads to; RFC 1624, section 3.
            let expected = checksum(words)
            #expect(updated == expected || words.allSatisfy { $0 == 0 }, "change \(number)")
        }
    }

    @Test("the steps of an address are those of its words", arguments: [false, true])
    func addresses(isV6: Bool) {
        var random = SplitMix64(seed: 2)
        for _ in 0..<10_000 {
            let (from, to) = (address(isV6, &random), address(isV6, &random))
            let rest = (0..<4).map { _ in UInt32(truncatingIfNeeded: random.next()) }
            let steps = lb_csum_step_addr(from, to, isV6 ? 1 : 0)
            let before = checksum(rest + words(from, isV6))
            #expect(lb_csum_update(before, steps) == checksum(rest + words(to, isV6)))
        }
    }

    @Test("what does not change leaves the checksum as it is")
    func unchanged() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<10_000 {
            let word = random.next()
            let check = UInt16(truncatingIfNeeded: random.next())
            let updated = lb_csum_update(check, lb_csum_step64(word, word))
            // 0xffff stands for the same sum as 0, and becomes it.
            #expect(updated == (check == 0xffff ? 0 : check))
        }
    }

    @Test("UDP without a checksum stays without, and one that comes to 0 is sent as 0xffff")
    func datagrams() {
        #expect(lb_csum_update_udp(0, lb_csum_step(1, 2)) == 0)
        // A checksum of 1 says that the rest sums up to 0xfffe; one more makes 0xffff, whose complement is 0.
        #expect(lb_csum_update(1, lb_csum_step(0, 1)) == 0)
        #expect(lb_csum_update_udp(1, lb_csum_step(0, 1)) == 0xffff)
        #expect(lb_csum_update_udp(1, lb_csum_step(0, 2)) == lb_csum_update(1, lb_csum_step(0, 2)))
    }

    @Test("the example of RFC 1624, section 4, comes out as there")
    func example() {
        // Bytes in the order of the text; the sum does not mind.
        #expect(lb_csum_update(0xdd2f, lb_csum_step(0x5555, 0x3285)) == 0x0000)
    }

    private func address(_ isV6: Bool, _ random: inout SplitMix64) -> lb_addr {
        isV6
            ? lb_addr(high: random.word(), low: random.word())
            : lb_addr_v4(UInt32(truncatingIfNeeded: random.next()))
    }

    /// As they lie in a packet.
    private func words(_ address: lb_addr, _ isV6: Bool) -> [UInt32] {
        let all = [address.high, address.low].flatMap {
            [
                UInt32(truncatingIfNeeded: $0 >> 32).bigEndian,
                UInt32(truncatingIfNeeded: $0).bigEndian,
            ]
        }
        return isV6 ? all : [all[3]]
    }

    private func checksum(_ words: [UInt32]) -> UInt16 {
        var sum = words.reduce(0) { $0 + Int($1 & 0xffff) + Int($1 >> 16) }
        while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16) }
        return ~UInt16(sum)
    }
}
