// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Endpoints", .tags(.unit))
struct EndpointTests {
    @Test(
        "an endpoint is an address and a port, brackets around IPv6",
        arguments: [
            ("192.0.2.1:514", "192.0.2.1:514"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("255.255.255.255:65535", "255.255.255.255:65535"),
            ("[::]:53", "[::]:53"),
            ("[2001:DB8:0::1]:53", "[2001:db8::1]:53"),
            ("[fe80::1%eth0]:53", "[fe80::1%eth0]:53"),
            ("[::ffff:192.0.2.1]:53", "192.0.2.1:53"),
        ])
    func accepted(text: String, printed: String) throws {
        #expect(try Endpoint(parsing: text).description == printed)
    }

    @Test(
        "a port is 1 to 65535, in digits alone",
        arguments: [
            "0", "65536", "99999999999999999999", "+5", "-1", "5 ", " 5", "", "0x5", "5a", "٥",
        ])
    func badPort(port: String) {
        #expect(throws: Endpoint.Malformed.port(port)) {
            try Endpoint(parsing: "192.0.2.1:\(port)")
        }
        #expect(throws: Endpoint.Malformed.port(port)) { try Endpoint(parsing: "[::1]:\(port)") }
    }

    @Test(
        "an address that cannot be one is quoted back",
        arguments: [
            ("localhost:53", "localhost"), (":53", ""), ("010.0.0.1:53", "010.0.0.1"),
            ("1.2.3:53", "1.2.3"), ("[]:53", ""), ("[192.0.2.1]:53", "192.0.2.1"),
            ("[1::2::3]:53", "1::2::3"), ("[::1%]:53", "::1%"), ("*:53", "*"),
        ])
    func badAddress(text: String, address: String) {
        #expect(throws: Endpoint.Malformed.address(address)) { try Endpoint(parsing: text) }
    }

    @Test(
        "a text of another shape is refused as a whole",
        arguments: [
            "", "192.0.2.1", "53", "::1", "::1:53", "2001:db8::1:53", "[::1]", "[::1]53", "[::1",
            "[",
            "[]", "::1]:53", "1.2.3.4:5:6",
        ])
    func badShape(text: String) {
        #expect(throws: Endpoint.Malformed.shape) { try Endpoint(parsing: text) }
    }

    @Test("every error says what to write instead")
    func reasons() {
        #expect(Endpoint.Malformed.shape.reason.contains("[2001:db8::1]:514"))
        #expect(
            Endpoint.Malformed.port("0").reason
                == "'0' is not a port; write a number from 1 to 65535")
        let address = Endpoint.Malformed.address("localhost").reason
        #expect(address.contains("'localhost'") && address.contains("names are not resolved"))
    }

    @Test("endpoints have one order: by address, then port, then zone")
    func order() throws {
        let sorted = try [
            "[::]:1", "[::1]:9", "0.0.0.1:2", "10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1",
            "[2001:db8::1]:1", "[fe80::1]:1", "[fe80::1%eth0]:1", "[fe80::1%eth1]:1", "[fe80::1]:2",
        ].map { try Endpoint(parsing: $0) }
        for (low, left) in sorted.enumerated() {
            for (high, right) in sorted.enumerated() {
                #expect((left < right) == (low < high), "\(left) and \(right)")
            }
        }
    }
}
