// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension ProbePayload {
    /// The datagram of one probe.
    ///
    /// - Parameter nonce: tells it from earlier probes, since servers repeat the reply to a request that they take for
    ///   a retransmission, to the port that it came from.
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
