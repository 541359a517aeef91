// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The ports of a listener", .tags(.unit))
struct ListenerPortsTests {
    private func listener(_ bind: Endpoint, _ furtherPorts: [UInt16]) -> Listener {
        Listener(
            name: "radius", bind: bind, mode: .xdpNAT, downstreams: [], interface: "eth0",
            nat: NATSettings(furtherPorts: furtherPorts))
    }

    @Test("all of them are in its place")
    func place() throws {
        let v4 = try Endpoint(parsing: "192.0.2.1:1812")
        #expect(listener(v4, []).place == "192.0.2.1:1812")
        #expect(listener(v4, [1813, 3799]).place == "192.0.2.1:1812,1813,3799")
        let v6 = try Endpoint(parsing: "[2001:db8::1]:1812")
        #expect(listener(v6, [1813]).place == "[2001:db8::1]:1812,1813")
    }
}
