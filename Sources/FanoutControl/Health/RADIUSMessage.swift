// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension ProbePayload {
    /// The datagram of one probe.
    ///
    /// - Parameter nonce: distinguishes it from earlier probes: a server that takes a request for a retransmission
    ///   repeats the reply to the old port.
    func message(to target: Endpoint, nonce: UInt64) -> [UInt8] {
        let digits = String(nonce, radix: 16)
        let words = stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: nonce >> $0) }
        switch self {
        case .bytes(let bytes): return bytes
        case .empty: return []
        case .dns:
            // An ID, no flags, one question: the root, NS, IN.
            return Array(words[0..<2]) + [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1]
        case .coapPing: return [0x40, 0] + Array(words[0..<2])
        case .radiusStatus(let secret):
            return Self.statusServer(id: words[0], authenticator: words + words, secret: secret)
        case .sipOptions:
            // Zones mean nothing to the other host.
            let address = IPAddress(high: target.address.high, low: target.address.low)
            let place = "sip:\(Endpoint(address, port: target.port))"
            return Array(
                [
                    "OPTIONS \(place) SIP/2.0",
                    "Via: SIP/2.0/UDP udp-fanout.invalid;branch=z9hG4bK\(digits);rport",
                    "Max-Forwards: 0", "From: <sip:probe@udp-fanout.invalid>;tag=\(digits)",
                    "To: <\(place)>", "Call-ID: \(digits)@udp-fanout.invalid", "CSeq: 1 OPTIONS",
                    "Accept: application/sdp", "Content-Length: 0", "", "",
                ].joined(separator: "\r\n").utf8)
        }
    }

    /// - Parameter authenticator: 16 bytes.
    static func statusServer(
        id: UInt8, authenticator: [UInt8], secret: [UInt8]
    ) -> [UInt8] {
        // Code 12 and a length of 38; the attribute Message-Authenticator, which is computed over zeros in its place.
        let head = [12, id, 0, 38] + authenticator + [80, 18]
        return head + MD5.authentication(of: head + [UInt8](repeating: 0, count: 16), key: secret)
    }
}

/// The digest that RADIUS signs with (RFC 1321, RFC 2104). It is used for nothing else.
enum MD5 {
    /// HMAC-MD5.
    static func authentication(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        let key = key.count > 64 ? digest(key) : key
        let padded = key + [UInt8](repeating: 0, count: 64 - key.count)
        return digest(padded.map { $0 ^ 0x5c } + digest(padded.map { $0 ^ 0x36 } + message))
    }

    static func digest(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        bytes += littleEndian(UInt64(message.count) * 8)
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for start in stride(from: 0, to: bytes.count, by: 64) {
            add(bytes[start..<(start + 64)], to: &state)
        }
        return state.flatMap(littleEndian)
    }

    private static func littleEndian<Word: FixedWidthInteger>(_ word: Word) -> [UInt8] {
        stride(from: 0, to: Word.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        var words: [UInt32] = []
        var word: UInt32 = 0
        for (index, byte) in block.enumerated() {
            // The first byte is the lowest.
            word = word >> 8 | UInt32(byte) << 24
            if index % 4 == 3 { words.append(word) }
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for step in 0..<64 {
            let mixed: UInt32
            let place: Int
            switch step / 16 {
            case 0: (mixed, place) = ((b & c) | (~b & d), step)
            case 1: (mixed, place) = ((d & b) | (~d & c), (5 * step + 1) % 16)
            case 2: (mixed, place) = (b ^ c ^ d, (3 * step + 5) % 16)
            default: (mixed, place) = (c ^ (b | ~d), 7 * step % 16)
            }
            let sum = a &+ mixed &+ sines[step] &+ words[place]
            let shift = shifts[step / 16][step % 4]
            (a, d, c) = (d, c, b)
            b = b &+ (sum << shift | sum >> (32 - shift))
        }
        state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
    }

    private static let shifts: [[UInt32]] = [
        [7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21],
    ]
    /// The integer part of 2³² |sin n|, n from 1.
    private static let sines: [UInt32] = [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a,
        0xa830_4613, 0xfd46_9501, 0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be,
        0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821, 0xf61e_2562, 0xc040_b340,
        0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
        0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8,
        0x676f_02d9, 0x8d2a_4c8a, 0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c,
        0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70, 0x289b_7ec6, 0xeaa1_27fa,
        0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
        0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92,
        0xffef_f47d, 0x8584_5dd1, 0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1,
        0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
    ]
}
