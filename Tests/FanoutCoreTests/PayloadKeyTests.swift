// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("Payload keys", .tags(.unit))
struct PayloadKeyTests {
    @Test("a key is read as it is written", arguments: PayloadKey.Preset.allCases)
    func spelling(preset: PayloadKey.Preset) throws {
        let key = PayloadKey(
            preset, offset: preset.takesBytes ? 2 : 0, length: preset.takesBytes ? 4 : 0, skip: 9)
        #expect(PayloadKey(key.description) == key)
        #expect(PayloadKey(datapath: key.datapath) == key)
        #expect(key.fault == nil)
        let bytes = PayloadKey(offset: 1023, length: 20)
        #expect(bytes.description == "offset=1023,length=20" && PayloadKey("\(bytes)") == bytes)
    }

    @Test(
        "other spellings are no key",
        arguments: [
            "", "dns_name", "ipfix_domain,", "length", "length=", "length=256", "skip=256",
            "offset=65536", "offset=-1", "length=4,ipfix_domain", "ipfix_domain,radius_id",
        ])
    func noKey(text: String) {
        #expect(PayloadKey(text) == nil)
    }

    @Test(
        "a key with wrong bytes has a fault",
        arguments: [
            ("length=0", "1 to 20"), ("length=21", "1 to 20"), ("offset=1024,length=1", "1023"),
            ("ipfix_domain,length=4", "ipfix_domain"), ("radius_id,offset=1", "radius_id"),
            ("quic_server_id", "1 to 20"), ("quic_server_id,offset=17,length=4", "20 bytes"),
            ("dtls_server_id,offset=252,length=4", "255 bytes"),
        ])
    func faults(text: String, says: String) throws {
        let fault = try #require(PayloadKey(text)?.fault)
        #expect(fault.contains(says), "\(fault)")
    }

    @Test("an unknown kind of a newer version is no key")
    func unknownKind() {
        #expect(
            PayloadKey(
                datapath: lb_payload_key(kind: 8, offset: 0, length: 1, skip: 0, reserved: 0))
                == nil)
    }

    @Test("hexadecimal digits come in pairs, and blanks do not count")
    func hexadecimal() {
        #expect([UInt8](hexadecimal: "00 fF a0") == [0, 255, 160])
        #expect([UInt8](hexadecimal: "") == [])
        for text in ["0", "0g", "0x00", "000"] { #expect([UInt8](hexadecimal: text) == nil) }
    }
}
