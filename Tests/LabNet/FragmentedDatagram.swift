// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// A UDP datagram in handmade IP fragments, which may be sent in any order (RFC 791, 3.2; RFC 8200, 4.5).
public struct FragmentedDatagram: Sendable {
    public let source: Endpoint
    public let destination: Endpoint
    /// The fragments in the order of the datagram.
    public let packets: [[UInt8]]

    /// - Parameters:
    ///   - id: the identification; IPv4 uses 16 bits of it, which must not be 0.
    ///   - bytes: UDP header and payload bytes in each fragment but the last, a multiple of 8.
    public init(
        _ payload: [UInt8], from source: Endpoint, to destination: Endpoint, id: UInt32, bytes: Int
    ) {
        precondition(bytes % 8 == 0 && bytes >= 8)
        self.source = source
        self.destination = destination
        let whole = Self.datagram(payload, source, destination)
        packets = stride(from: 0, to: whole.count, by: bytes).map { start in
            let end = min(start + bytes, whole.count)
            let isLast = end == whole.count
            let header =
                source.address.family == .v4
                ? Self.headerV4(source, destination, id, start, isLast, end - start)
                : Self.headerV6(source, destination, id, start, isLast, end - start)
            return header + whole[start..<end]
        }
    }

    private static func datagram(
        _ payload: [UInt8], _ source: Endpoint, _ destination: Endpoint
    ) -> [UInt8] {
        let length = payload.count + 8
        var bytes = word(source.port) + word(destination.port) + word(UInt16(length)) + [0, 0]
        bytes += payload
        let pseudo =
            source.address.wire + destination.address.wire + [0, 17] + word(UInt16(length))
        let sum = checksum(pseudo + bytes)
        bytes.replaceSubrange(6..<8, with: word(sum == 0 ? 0xffff : sum))
        return bytes
    }

    /// The kernel fills in total length and checksum (raw(7), IP_HDRINCL).
    private static func headerV4(
        _ source: Endpoint, _ destination: Endpoint, _ id: UInt32, _ start: Int, _ isLast: Bool,
        _ length: Int
    ) -> [UInt8] {
        let place = UInt16(start / 8) | (isLast ? 0 : 0x2000)
        return [0x45, 0] + word(UInt16(20 + length)) + word(UInt16(truncatingIfNeeded: id))
            + word(place) + [64, 17, 0, 0] + source.address.wire + destination.address.wire
    }

    private static func headerV6(
        _ source: Endpoint, _ destination: Endpoint, _ id: UInt32, _ start: Int, _ isLast: Bool,
        _ length: Int
    ) -> [UInt8] {
        [0x60, 0, 0, 0] + word(UInt16(8 + length)) + [44, 64] + source.address.wire
            + destination.address.wire + [17, 0] + word(UInt16(start) | (isLast ? 0 : 1))
            + word(UInt16(id >> 16)) + word(UInt16(truncatingIfNeeded: id))
    }

    private static func word(_ value: UInt16) -> [UInt8] {
        [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for start in stride(from: 0, to: bytes.count, by: 2) {
            let low = start + 1 < bytes.count ? UInt32(bytes[start + 1]) : 0
            sum += UInt32(bytes[start]) << 8 | low
        }
        while sum > 0xffff { sum = sum & 0xffff + sum >> 16 }
        return ~UInt16(sum)
    }
}

extension IPAddress {
    /// In network order, 4 or 16 bytes.
    var wire: [UInt8] {
        let whole = [high, low].flatMap { half in
            (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) }
        }
        return family == .v4 ? Array(whole[12...]) : whole
    }
}
