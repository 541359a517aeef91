// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("The capacity of xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATCapacityTests {
    /// The room of both maps in these tests.
    static let capacity = 1024

    @Test("a map holds its full capacity before it evicts")
    func room() throws {
        let lab = try NATLab(.v4, .init(waits: false))
        try onOneCPU { () throws in
            for client in 0..<Self.capacity { try lab.request(client) }
            #expect(lab.fixture.count(in: "associations4") == Self.capacity)
            for client in 0..<Self.capacity {
                #expect(try lab.request(client) == lab.server(client % 3))
            }
        }
        #expect(try lab.fixture.counts(0, .ingress)[LB_NAT_INGRESS_NEW_NAT] == 1024)
    }

    @Test("a full map evicts the oldest first")
    func oldestFirst() throws {
        let lab = try NATLab(.v4, .init(waits: false))
        try onOneCPU { () throws in
            for client in 0..<Self.capacity + 256 { try lab.request(client) }
        }
        let known = try (0..<Self.capacity + 256).filter { try lab.association($0) != nil }
        // The kernel evicts in batches of 128, the oldest first (kernel/bpf/bpf_lru_list.c).
        #expect(known.count > Self.capacity - 256)
        #expect(known.allSatisfy { $0 >= 256 })
        #expect(known.last == Self.capacity + 255)
    }

    @Test("a client that sends again is not among the oldest")
    func recentlyUsed() throws {
        let lab = try NATLab(.v4, .init(waits: false))
        try onOneCPU { () throws in
            for client in 0..<Self.capacity { try lab.request(client) }
            for number in 0..<256 {
                for regular in 0..<64 { try lab.request(regular) }
                try lab.request(Self.capacity + number)
            }
            for regular in 0..<64 { #expect(try lab.association(regular) != nil, "\(regular)") }
        }
    }

    @Test("an unanswered flood evicts no answered client")
    func flood() throws {
        let lab = try NATLab(.v4)
        try onOneCPU { () throws in
            for client in 0..<500 {
                try lab.request(client)
                try lab.answer(client % 3, to: client)
            }
            for spoofed in 1000..<9000 { try lab.request(spoofed) }
            for client in 0..<500 {
                #expect(try lab.association(client)?.isAnswered == true, "\(client)")
                #expect(try lab.request(client) == lab.server(client % 3))
            }
        }
        #expect(lab.fixture.count(in: "unanswered4") <= Self.capacity)
        #expect(lab.fixture.count(in: "associations4") == 500)
    }

    @Test("without a map for unanswered associations, the same flood evicts them")
    func floodUnwaiting() throws {
        let lab = try NATLab(.v4, .init(waits: false))
        try onOneCPU { () throws in
            for client in 0..<500 { try lab.request(client) }
            for spoofed in 1000..<9000 { try lab.request(spoofed) }
        }
        #expect(try (0..<500).allSatisfy { try lab.association($0) == nil })
    }

    @Test("each family has its own capacity")
    func families() throws {
        let fixture = try NATFixture()
        try fixture.listen(0, on: ["192.0.2.1:5683"], servers: ["10.1.0.1:5683"])
        try fixture.listen(1, on: ["[2001:db8::1]:5683"], servers: ["[2001:db8:51::1]:5683"])
        for client in 1...100 {
            try fixture.run(Datagram(from: "198.51.100.\(client):1", to: "192.0.2.1:5683"))
            try fixture.run(Datagram(from: "[2001:db8:7::\(client)]:1", to: "[2001:db8::1]:5683"))
        }
        #expect(fixture.count(in: "unanswered4") == 100)
        #expect(fixture.count(in: "unanswered6") == 100)
    }
}
