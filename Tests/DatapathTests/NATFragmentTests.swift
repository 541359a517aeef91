// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

/// Datagrams in three fragments. If each chose a server, round robin would part them.
@Suite("Fragments in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATFragmentTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test("a request's fragments go to one server and count as one datagram", arguments: families)
    func requests(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try onOneCPU { () throws in
            for number in 0..<6 {
                let whole = try datagram(from: lab.client(number), to: lab.service)
                let left = try whole.turned(destination: lab.server(number % 3))
                for (part, expected) in zip(parts(of: whole, number), parts(of: left, number)) {
                    #expect(
                        try lab.fixture.run(part)
                            == .init(verdict: .transmit, output: expected.frame))
                }
            }
        }
        let counts = try lab.fixture.counts(0, .ingress)
        #expect(counts.common.received == 6 && counts.common.forwarded == 6)
        #expect(counts.common.receivedBytes == 360)
        #expect(try lab.fixture.noListener()[LB_NAT_INGRESS_FRAGMENT] == 12)
    }

    @Test("a reply's fragments all leave as the service's", arguments: families)
    func answers(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let whole = try datagram(from: lab.server(1), to: lab.client(0))
        let left = parts(of: whole.turned(source: lab.service), 7)
        for (part, expected) in zip(parts(of: whole, 7), left) {
            #expect(
                try lab.fixture.run(part) == .init(verdict: .transmit, output: expected.frame))
        }
        #expect(try lab.fixture.noListener()[LB_NAT_EGRESS_FRAGMENT] == 2)
    }

    @Test("the last fragment before the middle one follows too", arguments: families)
    func swapped(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let whole = try datagram(from: lab.client(0), to: lab.service)
        let left = parts(of: whole.turned(destination: try lab.server(0)), 5)
        try onOneCPU { () throws in
            for place in [0, 2, 1] {
                #expect(
                    try lab.fixture.run(parts(of: whole, 5)[place])
                        == .init(verdict: .transmit, output: left[place].frame))
            }
        }
    }

    @Test("when a later fragment comes first, all go to the stack, uncounted", arguments: families)
    func laterFirst(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let sent = parts(of: try datagram(from: lab.client(0), to: lab.service), 77)
        for part in [sent[1], sent[0], sent[2]] {
            #expect(try lab.fixture.run(part) == .init(verdict: .pass, output: part.frame))
        }
        #expect(try lab.fixture.counts(0, .ingress).common.received == 0)
        #expect(try lab.fixture.noListener()[LB_NAT_FRAGMENTED_IP_PACKET] == 3)
    }

    @Test(
        "fragments of a dropped datagram are dropped, and counted once",
        arguments: families)
    func dropped(family: IPAddress.Family) throws {
        let lab = try NATLab(family, .init(packetMax: 59))
        for part in parts(of: try datagram(from: lab.client(0), to: lab.service), 5) {
            #expect(try lab.fixture.run(part).verdict == .drop)
        }
        let counts = try lab.fixture.counts(0, .ingress)
        #expect(counts.common.received == 1 && counts.common[.oversize] == 1)
        #expect(try lab.fixture.noListener()[LB_NAT_DROPPED_FRAGMENT] == 2)
    }

    @Test("a later fragment follows a removed server", arguments: families)
    func serverGone(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let whole = try datagram(from: lab.client(0), to: lab.service)
        let left = parts(of: whole.turned(destination: try lab.server(0)), 5)
        try onOneCPU { try lab.fixture.run(parts(of: whole, 5)[0]) }
        try lab.fixture.remove(0)
        #expect(
            try lab.fixture.run(parts(of: whole, 5)[1])
                == .init(verdict: .transmit, output: left[1].frame))
    }

    @Test("a later fragment with TTL 1 is dropped")
    func expired() throws {
        let lab = try NATLab(.v4)
        var sent = parts(of: try datagram(from: lab.client(0), to: lab.service), 5)
        try lab.fixture.run(sent[0])
        sent[1].timeToLive = 1
        #expect(try lab.fixture.run(sent[1]).verdict == .drop)
        #expect(try lab.fixture.noListener()[LB_NAT_LIFETIME_EXPIRED] == 1)
    }

    @Test("fragments between other hosts pass", arguments: families)
    func elsewhere(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let whole = try datagram(from: lab.client(0), to: lab.client(1))
        for part in parts(of: whole, 3) + parts(of: whole, 3).reversed() {
            #expect(try lab.fixture.run(part) == .init(verdict: .pass, output: part.frame))
        }
    }

    private func datagram(from source: Endpoint, to destination: Endpoint) throws -> Datagram {
        var datagram = try Datagram(from: "\(source)", to: "\(destination)")
        datagram.payload = (0..<60).map { UInt8($0) }
        return datagram
    }

    private func parts(of whole: Datagram, _ identification: Int) -> [Datagram] {
        [0..<24, 24..<48, 48..<68].map { range in
            var part = whole
            part.fragment = Datagram.Fragment(
                identification: UInt32(identification), range: range,
                isLast: range.upperBound == 68)
            return part
        }
    }
}
