// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@testable import TCPlane
import KernelForwarding

@Suite("A listener's table", .tags(.unit))
struct ListenerTableTests {
    private let near = Downstream(
        name: "near", endpoint: Endpoint(IPAddress(v4: 0x0a00_0002), port: 5000))
    private let far = Downstream(
        name: "far", endpoint: Endpoint(IPAddress(high: 1, low: 2), port: 6000), weight: 3)

    private func listener(_ balance: Balance, maxDownstream: Int = 4) -> Listener {
        Listener(
            name: "in", bind: Endpoint(IPAddress(v4: 1), port: 514), mode: .tcEBPF,
            balance: balance, downstreams: [near, far],
            settings: ListenerSettings(maxPacketSize: 1234, maxDownstream: maxDownstream))
    }

    private func bytes(
        _ listener: Listener, _ paths: [IPAddress: ReceiverPath] = [:],
        unplugged: Set<IPAddress> = []
    ) -> [UInt8] {
        ListenerTable(
            listener: listener, row: 7, rows: [near.endpoint: 11, far.endpoint: 12],
            sole: ServedDestination(address: IPAddress(v4: 1), port: 514, interface: 9),
            paths: paths, capacity: TableCapacity(for: [listener], entries: 2),
            unplugged: unplugged
        ).bytes
    }

    @Test("begins with its head, and is as long as the map's values")
    func head() {
        let listener = listener(.sourceIP)
        let bytes = bytes(listener)
        #expect(bytes.count == TableCapacity(for: [listener], entries: 2).tableBytes)
        let head = bytes.withUnsafeBytes { $0.loadUnaligned(as: lb_table.self) }
        #expect(head.key == LB_KEY_SOURCE_IP.rawValue)
        #expect(head.slots == 16384)
        #expect(head.max_packet_size == 1234)
        #expect(head.row == 7)
        #expect(head.address.low == IPAddress(v4: 1).low)
        #expect(head.ifindex == 9)
        #expect(head.seed_v4 == lb_hash_high(0, 0))
    }

    @Test("holds receivers in the listener's order, each with its row and its path")
    func receivers() {
        let mac: [UInt8] = [2, 0, 0, 0, 0, 9]
        let bytes = bytes(
            listener(.roundRobin),
            [
                near.endpoint.address: .peer(
                    interface: 3, nextHop: near.endpoint.address, mac: mac, mtu: 1500),
                far.endpoint.address: .neighbour(
                    interface: 4, nextHop: IPAddress(high: 9, low: 9), mtu: 1280),
            ], unplugged: [far.endpoint.address])
        let found = bytes.withUnsafeBytes { raw in
            (0..<2).map {
                raw.loadUnaligned(
                    fromByteOffset: MemoryLayout<lb_table>.size + $0
                        * MemoryLayout<lb_receiver>.size, as: lb_receiver.self)
            }
        }
        #expect(found.map(\.row) == [11, 12])
        #expect(found.map(\.port) == [5000, 6000])
        #expect(found.map(\.is_v6) == [0, 1])
        #expect(found.map(\.ifindex) == [3, 4])
        #expect(found.map(\.mtu) == [1500, 1280])
        #expect(found.map { UInt32($0.path) } == [LB_PATH_PEER.rawValue, LB_PATH_NEIGH.rawValue])
        #expect(
            found.map { Int32($0.flags) & LB_RECEIVER_UNPLUGGED } == [0, LB_RECEIVER_UNPLUGGED])
        #expect(found[0].mac.5 == 9)
        #expect(found[1].next_hop.low == 9)
    }

    @Test("holds the slots after the receivers' capacity", arguments: Balance.allCases)
    func slots(balance: Balance) {
        let listener = listener(balance)
        let bytes = bytes(listener)
        let start = MemoryLayout<lb_table>.size + 4 * MemoryLayout<lb_receiver>.size
        let wanted = listener.slotTable.slots
        let slots = bytes.withUnsafeBytes { raw in
            wanted.indices.map {
                raw.loadUnaligned(fromByteOffset: start + 2 * $0, as: UInt16.self)
            }
        }
        #expect(slots == wanted)
    }

    @Test("needs a new program for more receivers, more addresses or `any`, not for fewer")
    func capacity() {
        let small = TableCapacity(for: [listener(.sourceIP)], entries: 2)
        let large = TableCapacity(for: [listener(.sourceIP, maxDownstream: 1024)], entries: 2)
        #expect(large.covers(small))
        #expect(!small.covers(large))
        #expect(large.slots == 131_072)
        #expect(!small.covers(TableCapacity(for: [listener(.sourceIP)], entries: 4000)))
        var any = listener(.sourceIP)
        any.served = .any
        #expect(!small.covers(TableCapacity(for: [any], entries: 2)))
        #expect(TableCapacity(for: [any], entries: 2).covers(small))
    }
}
