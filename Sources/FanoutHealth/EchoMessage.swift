// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// An ICMP or ICMPv6 echo message of ours (RFC 792 page 14, RFC 4443 section 4): after the header a
/// number by which the probe is found again, and a nonce that nobody else knows.
struct EchoMessage: Equatable {
    let token: UInt64
    let nonce: UInt64

    private static let headerBytes = 8
    private static let bytes = headerBytes + 16

    /// The request. A ping socket puts in its own identifier, and every kind of socket but a raw one of
    /// IPv4 its own checksum.
    func request(_ family: IPAddress.Family, identifier: UInt16) -> [UInt8] {
        var message: [UInt8] = [family == .v4 ? 8 : 128, 0, 0, 0]
        message += identifier.networkBytes
        message += UInt16(truncatingIfNeeded: token).networkBytes
        message += token.networkBytes + nonce.networkBytes
        let sum = Self.checksum(message).networkBytes
        (message[2], message[3]) = (sum[0], sum[1])
        return message
    }

    init(token: UInt64, nonce: UInt64) {
        self.token = token
        self.nonce = nonce
    }

    /// Reads a reply; nil when it is none, or cannot be one to a request of ours.
    ///
    /// - Parameter hasIPHeader: whether the IPv4 header stands before it, as raw sockets deliver it.
    init?(reply bytes: ArraySlice<UInt8>, _ family: IPAddress.Family, hasIPHeader: Bool) {
        var rest = bytes
        if hasIPHeader {
            guard let first = rest.first else { return nil }
            rest = rest.dropFirst(Int(first & 0xf) * 4)
        }
        guard rest.count == Self.bytes, rest.first == (family == .v4 ? 0 : 129) else { return nil }
        let words = rest.dropFirst(Self.headerBytes)
        self.init(
            token: UInt64(networkBytes: words.prefix(8)),
            nonce: UInt64(networkBytes: words.suffix(8)))
    }

    /// The Internet checksum (RFC 1071) of an even number of bytes.
    static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            sum += UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
        }
        while sum > 0xffff { sum = sum & 0xffff + sum >> 16 }
        return ~UInt16(truncatingIfNeeded: sum)
    }
}

extension FixedWidthInteger {
    fileprivate var networkBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: self >> $0)
        }
    }
}

extension UInt64 {
    fileprivate init(networkBytes bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
