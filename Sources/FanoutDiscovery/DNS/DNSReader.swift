// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Takes a DNS message apart, from its beginning to its end.
struct DNSReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func byte() throws(DNSMessage.Malformed) -> UInt8 {
        guard position < bytes.count else { throw DNSMessage.Malformed() }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func word() throws(DNSMessage.Malformed) -> UInt16 {
        UInt16(try byte()) << 8 | UInt16(try byte())
    }

    mutating func long() throws(DNSMessage.Malformed) -> UInt32 {
        UInt32(try word()) << 16 | UInt32(try word())
    }

    /// A name, in lower case. Pointers lead backwards only, so it ends (RFC 1035 section 4.1.4).
    mutating func name() throws(DNSMessage.Malformed) -> String {
        var labels: [String] = []
        var place = position
        var end: Int?
        var length = 0
        while true {
            guard place < bytes.count else { throw DNSMessage.Malformed() }
            let count = Int(bytes[place])
            if count == 0 { break }
            if count >= 0xc0 {
                guard place + 1 < bytes.count else { throw DNSMessage.Malformed() }
                let target = (count & 0x3f) << 8 | Int(bytes[place + 1])
                guard target < place else { throw DNSMessage.Malformed() }
                end = end ?? place + 2
                place = target
                continue
            }
            length += count + 1
            guard count < 0x40, place + count < bytes.count, length <= 255 else {
                throw DNSMessage.Malformed()
            }
            labels.append(String(decoding: bytes[(place + 1)...(place + count)], as: UTF8.self))
            place += count + 1
        }
        position = end ?? place + 1
        return labels.joined(separator: ".").lowercased()
    }

    /// So many records; those of kinds that do not matter are left out.
    mutating func records(_ count: UInt16) throws(DNSMessage.Malformed) -> [DNSRecord] {
        var result: [DNSRecord] = []
        for _ in 0..<count {
            let name = try name()
            let (type, kind) = (try word(), try word())
            let ttl = try long()
            let end = Int(try word()) + position
            guard end <= bytes.count else { throw DNSMessage.Malformed() }
            if kind == 1, let type = DNSRecordType(rawValue: type), let value = try value(type) {
                // The sign bit means 0 (RFC 2181 section 8).
                result.append(DNSRecord(name: name, ttl: ttl > 0x7fff_ffff ? 0 : ttl, value: value))
            }
            position = end
        }
        return result
    }

    private mutating func value(_ type: DNSRecordType) throws(DNSMessage.Malformed)
        -> DNSRecord.Value?
    {
        switch type {
        case .a: return .address(IPAddress(v4: try long()))
        case .aaaa:
            let high = UInt64(try long()) << 32 | UInt64(try long())
            let low = UInt64(try long()) << 32 | UInt64(try long())
            return .address(IPAddress(high: high, low: low))
        case .cname: return .alias(try name())
        case .srv:
            let (priority, weight, port) = (try word(), try word(), try word())
            return .service(
                priority: priority, weight: weight, port: port, target: try name())
        case .soa:
            _ = try name()
            _ = try name()
            for _ in 0..<4 { _ = try long() }
            return .absence(ttl: try long())
        }
    }
}
