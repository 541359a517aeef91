// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Flow keys", .tags(.unit))
struct FlowKeyTests {
    @Test(
        "every golden vector has its key, computed from the C header", arguments: GoldenVector.all)
    func goldenVectors(_ vector: GoldenVector) throws {
        let source = try Endpoint(parsing: vector.source)
        let destination = try Endpoint(parsing: vector.destination)
        #expect(FlowKey.sourceIP(source.address, seed: vector.seed) == vector.sourceIP)
        #expect(
            FlowKey.fourTuple(source: source, destination: destination, seed: vector.seed)
                == vector.fourTuple)
    }

    @Test(
        "every golden payload has its key, computed from the C header", arguments: PayloadVector.all
    )
    func goldenPayloads(_ vector: PayloadVector) throws {
        let key = try #require(PayloadKey(vector.spec))
        #expect(key.fault == nil && key.description == vector.spec)
        let source = try Endpoint(parsing: vector.source)
        let destination = try Endpoint(parsing: vector.destination)
        let payload = try #require([UInt8](hexadecimal: vector.payload))
        #expect(
            FlowKey.payload(
                payload, key, source: source, destination: destination, seed: vector.seed)
                == vector.key)
    }

    @Test("the golden vectors cover both families, mapped addresses and seeds")
    func goldenCoverage() throws {
        #expect(GoldenVector.all.count >= 24)
        #expect(GoldenVector.all.contains { $0.source.contains("::ffff:") })
        #expect(GoldenVector.all.contains { $0.source.hasPrefix("[2001:db8") })
        #expect(Set(GoldenVector.all.map(\.seed)).count >= 4)
    }

    @Test("a client on a dual-stack socket has the key that it has on IPv4")
    func mappedClient() throws {
        let mapped = try #require(IPAddress("::ffff:192.0.2.1"))
        let plain = try #require(IPAddress("192.0.2.1"))
        #expect(FlowKey.sourceIP(mapped, seed: 7) == FlowKey.sourceIP(plain, seed: 7))
    }

    @Test("a zone takes no part in the key")
    func zone() throws {
        let zoned = try #require(IPAddress("fe80::1%eth0"))
        let bare = try #require(IPAddress("fe80::1"))
        #expect(FlowKey.sourceIP(zoned) == FlowKey.sourceIP(bare))
    }

    @Test("addresses that differ only in the order of their digits do not share a key")
    func orderMatters() throws {
        let keys = ["2001:db8:1:2::", "2001:db8:2:1::", "2001:db8::1:2", "2001:db8::2:1"].map {
            IPAddress($0).map { FlowKey.sourceIP($0) }
        }
        #expect(!keys.contains(nil))
        #expect(Set(keys).count == keys.count)
    }

    @Test("turning one bit of a flow turns each bit of its key about half the time")
    func avalanche() {
        var random = SplitMix64(seed: 11)
        var flips = [Int](repeating: 0, count: 32)
        let rounds = 4096
        for _ in 0..<rounds {
            let address = IPAddress(v4: UInt32(truncatingIfNeeded: random.next()))
            let neighbour = IPAddress(v4: address.v4 ^ 1 << UInt32(random.next() % 32))
            let changed = FlowKey.sourceIP(address) ^ FlowKey.sourceIP(neighbour)
            for bit in flips.indices where changed >> bit & 1 == 1 { flips[bit] += 1 }
        }
        // Five standard deviations of 4096 fair coins are 160.
        for count in flips { #expect(abs(count - rounds / 2) < 160) }
    }

    @Test("the clients of one subnet spread evenly over the slots of a small table")
    func spread() {
        var counts = [Int](repeating: 0, count: 8)
        for host in UInt32(0)..<65_536 {
            let key = FlowKey.sourceIP(IPAddress(v4: 0x0a00_0000 | host))
            counts[Int(key % 8)] += 1
        }
        // 8192 each; five standard deviations are 423.
        for count in counts { #expect(abs(count - 8192) < 423) }
    }
}
