// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("IP addresses as text", .tags(.unit))
struct IPAddressTests {
    @Test(
        "an address prints in its canonical form (RFC 5952)",
        arguments: [
            // Section 4.1: no leading zeros.
            ("2001:0db8::0001", "2001:db8::1"),
            ("2001:db8:0000:0:0:0:2:1", "2001:db8::2:1"),
            // Section 4.2.2: a single zero group is not shortened.
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("0:1:1:1:1:1:1:0", "0:1:1:1:1:1:1:0"),
            // Section 4.2.3: the longest run, and of two equal ones the first.
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("1:0:0:2:0:0:3:4", "1::2:0:0:3:4"),
            // Section 4.3: lower case.
            ("2001:DB8:ABCD::EF", "2001:db8:abcd::ef"),
            // Runs at either end, and nothing but zeros.
            ("0:0:0:0:0:0:0:0", "::"),
            ("::", "::"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("1:0:0:0:0:0:0:0", "1::"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            // An IPv4 tail is two groups; behind ::ffff it makes the IPv4 address itself.
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("1:2:3:4:5:6:192.0.2.33", "1:2:3:4:5:6:c000:221"),
            ("::192.0.2.33", "::c000:221"),
            ("::ffff:192.0.2.33", "192.0.2.33"),
            ("::FFFF:c000:221", "192.0.2.33"),
            ("0:0:0:0:0:ffff:192.0.2.33", "192.0.2.33"),
            ("::ffff:0:192.0.2.33", "::ffff:0:c000:221"),
            // Zones (RFC 4007) stay as they are.
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80:0::1%12", "fe80::1%12"),
            // IPv4.
            ("0.0.0.0", "0.0.0.0"),
            ("255.255.255.255", "255.255.255.255"),
            ("192.0.2.1", "192.0.2.1"),
            ("10.0.100.7", "10.0.100.7"),
        ])
    func canonical(text: String, printed: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == printed)
    }

    @Test(
        "a text that could be misread is refused",
        arguments: [
            "", " ", "localhost", "1", "1.2.3", "1.2.3.4.5", "1..2.3", ".1.2.3", "1.2.3.",
            "256.0.0.1",
            "1.2.3.256", "010.0.0.1", "1.2.3.00", "1.2.3.04", "0x7f.0.0.1", "+1.2.3.4", "1.2.3.-4",
            " 1.2.3.4", "1.2.3.4 ", "1.2.3.4\n", "1.2.3.4%eth0", "1,2,3,4", "１.2.3.4",
            ":", ":::", "::::", "1::2::3", ":1", "1:", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8::", ":1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:", "12345::", "::fffff", "g::", "::-1", "::+1", "0x1::", "::1 ", " ::1",
            "::ａ", "[::1]", "::1/64", "1.2.3.4::", "::1.2.3.4:5", "1.2.3.4:5::", "::1.2.3",
            "::1.2.3.256",
            "::01.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::1%", "::1%%", "::1%a%b", "::1%a b",
            "::1%eth/0",
            "::1%a:b", "::1%sixteen-letters-", "::1%\u{0}", "%eth0", "::ffff:1.2.3.4%eth0",
        ])
    func refused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("a v4-mapped address is the IPv4 address")
    func mapped() throws {
        let mapped = try #require(IPAddress("::ffff:192.0.2.1"))
        #expect(mapped == IPAddress(v4: 0xc000_0201))
        #expect(mapped.family == .v4)
        #expect(mapped.v4 == 0xc000_0201)
        #expect(mapped.hashValue == IPAddress(v4: 0xc000_0201).hashValue)
    }

    @Test("an IPv4 address has no zone, even if one is given")
    func zoneOfIPv4() {
        let plain = IPAddress(v4: 1)
        #expect(IPAddress(high: plain.high, low: plain.low, zone: "eth0") == plain)
    }

    @Test("the same link-local address on two interfaces is two addresses")
    func zonesDiffer() throws {
        #expect(try #require(IPAddress("fe80::1%eth0")) != #require(IPAddress("fe80::1%eth1")))
        #expect(try #require(IPAddress("fe80::1%eth0")).zone == "eth0")
        #expect(try #require(IPAddress("fe80::1")).zone == nil)
    }

    @Test(
        "an address reports its kind",
        arguments: [
            ("0.0.0.0", "wildcard"), ("::", "wildcard"), ("0.0.0.1", ""), ("::2", ""),
            ("127.0.0.1", "loopback"), ("127.255.255.254", "loopback"), ("::1", "loopback"),
            ("128.0.0.1", ""), ("126.255.255.255", ""), ("::7f00:1", ""),
            ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"),
            ("255.255.255.255", "multicast"), ("ff02::1", "multicast"), ("240.0.0.1", ""),
            ("223.255.255.255", ""), ("fe00::", ""), ("2001:db8::1", ""),
            ("fe80::1", "link-local"), ("febf:ffff::1", "link-local"), ("fec0::1", ""),
            ("fe7f::1", ""), ("169.254.0.1", ""),
        ])
    func kinds(text: String, kind: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isWildcard == (kind == "wildcard"))
        #expect(address.isLoopback == (kind == "loopback"))
        #expect(address.isMulticastOrBroadcast == (kind == "multicast"))
        #expect(address.isLinkLocal == (kind == "link-local"))
    }
}
