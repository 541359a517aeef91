// SPDX-License-Identifier: Apache-2.0

import FanoutCore

/// A UDP datagram and the frame around it. A valid frame needs a source and a destination; every other field
/// changes it. Checksums are computed from scratch as RFC 1071 describes, so that they share no code with the
/// program that updates them.
struct Datagram: Sendable {
    var source: Endpoint
    var destination: Endpoint
    var payload: [UInt8] = Array("a log line, and of an odd length".utf8) + [0x21]
    var timeToLive: UInt8 = 64
    var trafficClass: UInt8 = 0
    /// EtherTypes of the tags, outermost first.
    var tags: [UInt16] = []
    /// The VLAN of each tag; 0 (a priority tag) where there are fewer.
    var vlans: [UInt16] = []
    /// IPv4 options, whole words of them.
    var options: [UInt8] = []
    /// IPv6 extension headers before UDP.
    var extensions: [Extension] = []
    var checksum = Checksum.right
    var protocolNumber: UInt8 = 17
    /// The length that the UDP header gives, and the IP header for its payload; correct when nil.
    var udpLength: Int?
    var ipLength: Int?
    /// Bytes that follow the IP packet in the frame.
    var padding = 0
    var ethernetDestination = [UInt8](repeating: 0, count: 6)
    var ethernetSource: [UInt8] = [2, 0, 0, 0, 0, 9]
    /// The part of the IP payload in this packet, if it is a fragment.
    var fragment: Fragment?
    /// Whether a router may fragment a whole IPv4 packet.
    var mayBeCut = false

    enum Checksum: Sendable {
        case right, absent, wrong
        /// Checksum offload: the sum of the pseudo header, not complemented.
        case leftToDevice
    }

    struct Extension: Sendable {
        var type: UInt8
        /// Without the first byte, which names the next header.
        var body: [UInt8]

        static let hopByHop = Extension(type: 0, body: [0, 1, 4, 0, 0, 0, 0])
        static let destinationOptions = Extension(
            type: 60, body: [1] + [1, 12] + [UInt8](repeating: 0, count: 12))

        static func routing(segmentsLeft: UInt8) -> Extension {
            Extension(type: 43, body: [2, 4, segmentsLeft] + [UInt8](repeating: 0, count: 20))
        }
    }

    struct Fragment: Sendable {
        var identification: UInt32
        /// The bytes of the IP payload; the offset is a multiple of 8.
        var range: Range<Int>
        var isLast: Bool
    }

    init(from source: String, to destination: String) throws {
        self.source = try Endpoint(parsing: source)
        self.destination = try Endpoint(parsing: destination)
    }

    var isV6: Bool { destination.address.family == .v6 }

    /// The datagram as it should arrive at a receiver that is one hop away.
    func led(to receiver: Endpoint) -> Datagram {
        var led = self
        led.destination = receiver
        led.timeToLive -= 1
        (led.tags, led.vlans) = ([], [])
        return led
    }

    /// The frame, from its Ethernet header on.
    var frame: [UInt8] {
        var frame = ethernetDestination + ethernetSource
        for (number, tag) in tags.enumerated() {
            frame += bytes(tag) + bytes(0xa000 | (number < vlans.count ? vlans[number] : 0))
        }
        frame += bytes(UInt16(isV6 ? 0x86dd : 0x0800))
        frame += isV6 ? packetV6 : packetV4
        return frame + [UInt8](repeating: 0, count: padding)
    }

    /// The UDP header and what follows it, whole.
    var udp: [UInt8] {
        let length = udpLength ?? 8 + payload.count
        let ports = bytes(source.port) + bytes(destination.port)
        let whole = ports + bytes(UInt16(truncatingIfNeeded: length)) + [0, 0] + payload
        var sum: UInt16 = 0
        if checksum != .absent {
            sum = internetChecksum(pseudoHeader + whole)
            // RFC 768: zero means "none", so a sum of zero is sent as 0xffff.
            if sum == 0 { sum = 0xffff }
            if checksum == .wrong { sum ^= 0x5555 }
            if checksum == .leftToDevice { sum = ~internetChecksum(pseudoHeader) }
        }
        return Array(whole[..<6]) + bytes(sum) + whole[8...]
    }

    /// The IP payload of this packet: all of it, or a fragment.
    private var body: [UInt8] { fragment.map { Array(udp[$0.range]) } ?? udp }

    private var addresses: [UInt8] {
        [source.address, destination.address].flatMap { address in
            isV6 ? bytes(address.high) + bytes(address.low) : bytes(address.v4)
        }
    }

    private var pseudoHeader: [UInt8] {
        addresses + bytes(UInt32(8 + payload.count)) + [0, 0, 0, 17]
    }

    private var packetV4: [UInt8] {
        let words = UInt8(5 + options.count / 4)
        var header: [UInt8] = [0x40 | words, trafficClass]
        header += bytes(UInt16(Int(words) * 4 + (ipLength ?? body.count)))
        let flags = fragment.map { UInt16($0.range.lowerBound / 8) | ($0.isLast ? 0 : 0x2000) }
        header += bytes(UInt16(truncatingIfNeeded: fragment?.identification ?? 0x1234))
        header += bytes(flags ?? (mayBeCut ? 0 : 0x4000))
        header += [timeToLive, protocolNumber]
        let sum = internetChecksum(header + [0, 0] + addresses + options)
        return header + bytes(sum) + addresses + options + body
    }

    private var packetV6: [UInt8] {
        var chain = extensions
        if let fragment {
            let flags = UInt16(fragment.range.lowerBound) | (fragment.isLast ? 0 : 1)
            chain.append(
                Extension(type: 44, body: [0] + bytes(flags) + bytes(fragment.identification)))
        }
        let types = chain.map(\.type) + [protocolNumber]
        let behind = zip(chain, types.dropFirst()).flatMap { [$1] + $0.body } + body
        var header = bytes(UInt32(6) << 28 | UInt32(trafficClass) << 20 | 0xabcde)
        header += bytes(UInt16(ipLength ?? behind.count)) + [types[0], timeToLive]
        return header + addresses + behind
    }
}

/// Big-endian.
func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
}

/// The complement of the ones' complement sum of 16-bit words (RFC 1071).
func internetChecksum(_ bytes: [UInt8]) -> UInt16 {
    var sum = 0
    for (place, byte) in bytes.enumerated() { sum += place % 2 == 0 ? Int(byte) << 8 : Int(byte) }
    while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16) }
    return ~UInt16(sum)
}
