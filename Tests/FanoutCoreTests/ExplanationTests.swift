// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Explanations", .tags(.unit))
struct ExplanationTests {
    private func listener(
        _ name: String, _ bind: String, _ mode: ForwardingMode = .userspace,
        balance: Balance = .sourceIP, served: ServedAddresses = .listed([]),
        weights: [UInt16] = [1, 1]
    ) throws -> Listener {
        Listener(
            name: name, bind: try Endpoint(parsing: bind), mode: mode, balance: balance,
            downstreams: weights.enumerated().map { index, weight in
                Downstream(
                    name: "r\(index)",
                    endpoint: Endpoint(IPAddress(v4: 0x0a00_0001), port: 1000 + UInt16(index)),
                    weight: weight)
            }, interface: mode.needsInterface ? "eth0" : nil, served: served)
    }

    private func taker(_ to: String, _ listeners: [Listener]) throws -> String? {
        let ends = (try Endpoint(parsing: "192.0.2.9:7"), try Endpoint(parsing: to))
        return Explanation(from: ends.0, to: ends.1, in: DesiredState(listeners: listeners))?
            .listener.name
    }

    @Test("a listener takes what its address, its addresses or its wildcard cover")
    func matches() throws {
        let some = try [
            listener("exact", "192.0.2.1:514"), listener("wide", "0.0.0.0:515"),
            listener("both", "[::]:516"),
            listener(
                "vip", "192.0.2.1:517", .tcEBPF,
                served: .listed([try #require(IPAddress("198.51.100.1"))])),
            listener("any", "192.0.2.1:518", .tcEBPF, served: .any),
        ]
        #expect(try taker("192.0.2.1:514", some) == "exact")
        #expect(try taker("192.0.2.2:514", some) == nil)
        #expect(try taker("192.0.2.2:515", some) == "wide")
        #expect(try taker("[2001:db8::1]:515", some) == nil)
        #expect(try taker("192.0.2.2:516", some) == "both")
        #expect(try taker("[2001:db8::1]:516", some) == "both")
        #expect(try taker("198.51.100.1:517", some) == "vip")
        #expect(try taker("198.51.100.2:517", some) == nil)
        #expect(try taker("198.51.100.2:518", some) == "any")
    }

    @Test("the kernel's hooks come before its sockets, and an address before a wildcard")
    func order() throws {
        let wide = try listener("wide", "0.0.0.0:514")
        let exact = try listener("exact", "192.0.2.1:514")
        let hook = try listener("hook", "0.0.0.0:514", .tcEBPF)
        #expect(try taker("192.0.2.1:514", [wide, exact]) == "exact")
        #expect(try taker("192.0.2.1:514", [wide, exact, hook]) == "hook")
    }

    @Test("a hash determines the slot's owner, a counter determines no receiver")
    func keys() throws {
        let ends = (try Endpoint(parsing: "192.0.2.9:7"), try Endpoint(parsing: "192.0.2.1:514"))
        let hashed = try listener("in", "192.0.2.1:514")
        let state = DesiredState(listeners: [hashed])
        let one = try #require(Explanation(from: ends.0, to: ends.1, in: state))
        let key = FlowKey.sourceIP(ends.0.address)
        let owner = try #require(hashed.slotTable.owner(of: key))
        #expect(one.key == key && one.receiver == hashed.downstreams[owner])
        #expect(one.slot == Int(key % UInt32(one.slotCount)))
        #expect(one.shares.map(\.slots).reduce(0, +) == one.slotCount)

        let turns = try listener("in", "192.0.2.1:514", balance: .roundRobin, weights: [3, 1])
        let two = try #require(
            Explanation(from: ends.0, to: ends.1, in: DesiredState(listeners: [turns])))
        #expect(two.key == nil && two.receiver == nil && two.shares.map(\.slots) == [3, 1])

        let empty = try listener("in", "192.0.2.1:514", weights: [0, 0])
        let three = try #require(
            Explanation(from: ends.0, to: ends.1, in: DesiredState(listeners: [empty])))
        #expect(three.receiver == nil && three.slotCount == 0)
        #expect(three.reasons.last?.contains("no_healthy") == true)
    }

    @Test("a mode with associations explains them, and takes all of its ports")
    func associations() throws {
        let client = try Endpoint(parsing: "192.0.2.9:7")
        var listener = try listener("in", "192.0.2.1:1000", .xdpNAT, balance: .roundRobin)
        listener.nat = NATSettings(furtherPorts: [515, 516])
        let state = DesiredState(listeners: [listener])
        let to = try Endpoint(parsing: "192.0.2.1:515")
        var one = try #require(Explanation(from: client, to: to, in: state))
        #expect(one.receiver == nil && !one.isAssociated)
        #expect(one.reasons.contains { $0.contains("has no association") })
        #expect(one.reasons.last?.contains("each new association") == true)
        // Receiver port 1000 equals that of `bind`, so it stands for each port.
        one.associate(with: try Endpoint(parsing: "10.0.0.1:1000"))
        #expect(one.receiver == nil)
        one.associate(with: try Endpoint(parsing: "10.0.0.1:515"))
        #expect(one.receiver?.name == "r0" && one.isAssociated)
        #expect(one.reasons.count == 2)
        #expect(one.reasons.last?.contains("an association with r0 (10.0.0.1:515)") == true)
        one.associate(with: try Endpoint(parsing: "10.0.0.1:1001"))
        #expect(one.receiver?.name == "r1")
        #expect(try taker("192.0.2.1:516", [listener]) == "in")
        #expect(try taker("192.0.2.1:517", [listener]) == nil)
        listener.balance = .random
        let random = Explanation(
            from: client, to: to, in: DesiredState(listeners: [listener]))
        #expect(random?.reasons.last?.contains("the client does not determine") == true)
    }

    @Test("a payload names the receiver by its bytes, or says why it does not")
    func payload() throws {
        var listener = try listener("in", "192.0.2.1:514", balance: .payload)
        listener.payloadKey = PayloadKey(offset: 1, length: 2)
        let (client, to) = (
            try Endpoint(parsing: "192.0.2.9:7"), try Endpoint(parsing: "192.0.2.1:514")
        )
        func explain(_ payload: [UInt8]?) throws -> Explanation {
            try #require(
                Explanation(
                    from: client, to: to, payload: payload,
                    in: DesiredState(listeners: [listener])))
        }
        #expect(try explain(nil).lacksPayload && explain(nil).receiver == nil)
        let one = try explain([0, 0x0a, 0xff, 9])
        #expect(!one.lacksPayload && one.receiver != nil)
        #expect(
            one.key
                == FlowKey.payload(
                    [0, 0x0a, 0xff], PayloadKey(offset: 1, length: 2), source: to, destination: to))
        #expect(
            one.reasons.contains {
                $0.contains("the bytes 0aff of the payload (offset=1,length=2)")
            })
        let short = try explain([1, 2])
        #expect(short.key == FlowKey.fourTuple(source: client, destination: to))
        #expect(short.reasons.contains { $0.contains("no bytes") && $0.contains("both ports") })
        listener.payloadKey = PayloadKey(.ipfixDomain)
        #expect(try explain([]).key == FlowKey.sourceIP(client.address))
        #expect(try explain([]).reasons.contains { $0.contains("the source address") })
    }

    @Test("a listener with other bytes needs new sockets or tables")
    func otherBytes() throws {
        let one = try listener("in", "192.0.2.1:514", balance: .payload)
        var other = one
        other.payloadKey = PayloadKey(length: 4)
        #expect(!one.sharesSockets(with: other))
    }
}
