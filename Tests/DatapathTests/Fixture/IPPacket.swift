// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// A packet of IP in a frame: a TCP segment or an ICMP error. Checksums are made from scratch, as those of
/// a `Datagram`.
struct IPPacket: Sendable {
    var source: IPAddress
    var destination: IPAddress
    var protocolNumber: UInt8
    var timeToLive: UInt8 = 64
    /// The bytes after the IP header, with the checksum as zeros.
    var body: [UInt8]
    /// The offset of the checksum in `body`.
    var checksumOffset: Int
    /// Whether the checksum covers the addresses, too.
    var sumsAddresses = true
    /// Checksum offload: the checksum field has the sum of the pseudo header.
    var leavesChecksum = false
    /// IPv4 options, whole words of them.
    var options: [UInt8] = []
    var ethernetDestination = [UInt8](repeating: 0, count: 6)
    var ethernetSource: [UInt8] = [2, 0, 0, 0, 0, 9]

    private var isV6: Bool { destination.family == .v6 }

    /// The frame, from its Ethernet header on.
    var frame: [UInt8] {
        ethernetDestination + ethernetSource + bytes(UInt16(isV6 ? 0x86dd : 0x0800)) + header
            + summedBody
    }

    private var addresses: [UInt8] {
        [source, destination].flatMap { address in
            isV6 ? bytes(address.high) + bytes(address.low) : bytes(address.v4)
        }
    }

    private var header: [UInt8] {
        if isV6 {
            return bytes(UInt32(6) << 28) + bytes(UInt16(body.count))
                + [protocolNumber, timeToLive] + addresses
        }
        let words = UInt8(5 + options.count / 4)
        let start =
            [0x40 | words, 0] + bytes(UInt16(Int(words) * 4 + body.count))
            + [0x12, 0x34, 0x40, 0, timeToLive, protocolNumber]
        let sum = internetChecksum(start + [0, 0] + addresses + options)
        return start + bytes(sum) + addresses + options
    }

    private var summedBody: [UInt8] {
        let pseudo = addresses + bytes(UInt32(body.count)) + [0, 0, 0, protocolNumber]
        let sum =
            leavesChecksum
            ? ~internetChecksum(pseudo) : internetChecksum((sumsAddresses ? pseudo : []) + body)
        var summed = body
        summed.replaceSubrange(checksumOffset..<checksumOffset + 2, with: bytes(sum))
        return summed
    }

    /// A TCP segment with an option and some data.
    static func segment(from source: String, to destination: String) throws -> IPPacket {
        let source = try Endpoint(parsing: source)
        let destination = try Endpoint(parsing: destination)
        return segment(from: source, to: destination)
    }

    static func segment(from source: Endpoint, to destination: Endpoint) -> IPPacket {
        let ports = bytes(source.port) + bytes(destination.port)
        let rest: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0x60, 0x18, 1, 0, 0, 0, 0, 0, 2, 4, 5, 0xb4]
        return IPPacket(
            source: source.address, destination: destination.address, protocolNumber: 6,
            body: ports + rest + Array("a request".utf8), checksumOffset: 16)
    }

    /// An ICMP error that quotes a packet.
    ///
    /// - Parameters:
    ///   - type: by RFC 792 or RFC 4443, with its code.
    ///   - rest: the four bytes before the quoted packet, such as the MTU.
    ///   - quoted: a frame; its Ethernet header is left out.
    ///   - quotedBytes: how much of the packet is quoted.
    static func error(
        _ type: UInt8, code: UInt8, rest: UInt32 = 0, from source: String, to destination: String,
        quoting quoted: [UInt8], bytes quotedBytes: Int = 128
    ) throws -> IPPacket {
        let source = try IPAddress.parsed(source)
        let isV6 = source.family == .v6
        return IPPacket(
            source: source, destination: try .parsed(destination),
            protocolNumber: isV6 ? 58 : 1,
            body: [type, code, 0, 0] + bytes(rest) + quoted.dropFirst(14).prefix(quotedBytes),
            checksumOffset: 2, sumsAddresses: isV6)
    }

    /// The packet one hop on, on its way back out of the interface on which it came.
    func turned(source: IPAddress? = nil, destination: IPAddress? = nil) -> IPPacket {
        var turned = self
        turned.source = source ?? self.source
        turned.destination = destination ?? self.destination
        turned.timeToLive -= 1
        (turned.ethernetDestination, turned.ethernetSource) = (ethernetSource, ethernetDestination)
        return turned
    }
}

extension Datagram {
    /// The datagram one hop on, on its way back out of the interface on which it came.
    func turned(source: Endpoint? = nil, destination: Endpoint? = nil) -> Datagram {
        var turned = self
        turned.source = source ?? self.source
        turned.destination = destination ?? self.destination
        turned.timeToLive -= 1
        (turned.ethernetDestination, turned.ethernetSource) = (ethernetSource, ethernetDestination)
        return turned
    }
}
