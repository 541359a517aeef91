// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing
import Tiers

@testable import FanoutControl

@Suite("What a probe sends", .tags(.unit))
struct PayloadTests {
    private static let target = Endpoint(IPAddress(v4: 0xc000_0201), port: 5060)

    private func message(_ payload: ProbePayload, nonce: UInt64 = 0x0123_4567_89ab_cdef) -> [UInt8]
    {
        payload.message(to: Self.target, nonce: nonce)
    }

    @Test("dns: a query for the root's name servers without recursion (RFC 1035 section 4.1)")
    func dns() {
        #expect(
            message(.dns) == [0xef, 0xcd, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1])
    }

    @Test("coap_ping: an empty confirmable message with an ID (RFC 7252 section 3)")
    func coap() { #expect(message(.coapPing) == [0x40, 0, 0xef, 0xcd]) }

    @Test("radius_status: the example of RFC 5997 section 6.1")
    func radius() throws {
        let expected = try #require(
            Data(
                hex: "0cda00268a54f4686fb394c52866e302185d062350125a665e2e1e8411f3e243822097c84fa3")
        )
        let found = ProbePayload.statusServer(
            id: 0xda, authenticator: Array(expected[4..<20]), secret: Array("xyzzy5461".utf8))
        #expect(found == Array(expected))
        let sent = message(.radiusStatus(secret: Array("s".utf8)))
        #expect(sent.count == 38 && sent[0] == 12 && sent[20...21] == [80, 18])
        #expect(sent != message(.radiusStatus(secret: Array("t".utf8))))
    }

    @Test("MD5 and HMAC-MD5 are those of RFC 1321 and RFC 2202")
    func digests() {
        func hex(_ bytes: [UInt8]) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        let cases = [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            (
                String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"
            ),
        ]
        for (text, digest) in cases { #expect(hex(MD5.digest(Array(text.utf8))) == digest) }
        let short = MD5.authentication(
            of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(hex(short) == "750c783e6ab0b503eaa86e310a5db738")
        let long = MD5.authentication(
            of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            key: [UInt8](repeating: 0xaa, count: 80))
        #expect(hex(long) == "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd")
    }

    @Test("sip_options: every header that RFC 3261 section 8.1.1 asks for, and a reply to our port")
    func sip() throws {
        let text = String(decoding: message(.sipOptions), as: UTF8.self)
        #expect(text.hasSuffix("\r\n\r\n") && !text.replacing("\r\n", with: "").contains("\n"))
        let lines = text.replacing("\r\n", with: "\n").split(separator: "\n")
        #expect(lines.first == "OPTIONS sip:192.0.2.1:5060 SIP/2.0")
        let names = lines.dropFirst().compactMap { $0.split(separator: ":").first }
        #expect(
            Set(names).isSuperset(of: [
                "Via", "Max-Forwards", "From", "To", "Call-ID", "CSeq", "Content-Length",
            ]))
        #expect(text.contains(";branch=z9hG4bK123456789abcdef;rport\r\n"))
        #expect(text.contains(";tag=123456789abcdef\r\n") && text.contains("CSeq: 1 OPTIONS\r\n"))
        let zoned = try Endpoint(parsing: "[fe80::1%eth0]:5060")
        let other = ProbePayload.sipOptions.message(to: zoned, nonce: 1)
        #expect(String(decoding: other, as: UTF8.self).hasPrefix("OPTIONS sip:[fe80::1]:5060 SIP"))
    }

    @Test(
        "no two probes of a preset are alike, since servers take equal requests for repeated ones",
        arguments: [ProbePayload.dns, .radiusStatus(secret: [1]), .sipOptions, .coapPing])
    func distinct(payload: ProbePayload) {
        #expect(message(payload, nonce: 1) != message(payload, nonce: 2))
    }

    @Test("text is sent as it is, and an empty datagram only where it is asked for")
    func plain() {
        #expect(message(.bytes([0, 255])) == [0, 255])
        #expect(message(.empty) == [] && !message(.usual).isEmpty)
    }
}

extension Data {
    fileprivate init?(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count else { return nil }
        self.init(
            stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
        )
    }
}
