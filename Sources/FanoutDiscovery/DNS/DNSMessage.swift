// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What a name is asked for (RFC 1035 section 3.2.2, RFC 3596, RFC 2782).
enum DNSRecordType: UInt16, CaseIterable, Hashable, Sendable {
    case a = 1
    case cname = 5
    case soa = 6
    case aaaa = 28
    case srv = 33
}

/// A record of an answer.
struct DNSRecord: Equatable, Sendable {
    enum Value: Equatable, Sendable {
        case address(IPAddress)
        case alias(String)
        case service(priority: UInt16, weight: UInt16, port: UInt16, target: String)
        /// How long the absence of a name may be believed, in seconds (RFC 2308 section 5).
        case absence(ttl: UInt32)
    }

    /// In lower case, without a dot at its end.
    let name: String
    /// Seconds.
    let ttl: UInt32
    let value: Value
}

/// A question and its answer on the wire (RFC 1035 section 4).
struct DNSMessage: Equatable, Sendable {
    /// Not all there is fits into a datagram: ask by TCP.
    var isTruncated = false
    /// RCODE: 0 no error, 2 the server failed, 3 there is no such name, 5 refused.
    var code: UInt8 = 0
    var answers: [DNSRecord] = []
    /// From the authority section: how long an absence may be believed.
    var absenceTTL: UInt32?

    /// What a message is not understood for.
    struct Malformed: Error {}

    /// A question, with room for answers of 1232 bytes (EDNS, RFC 6891).
    static func question(_ name: String, _ type: DNSRecordType, id: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        // Recursion desired; one question, one additional record.
        for word in [id, 0x0100, 1, 0, 0, 1] { bytes.append(word: word) }
        for label in name.split(separator: ".") {
            bytes.append(UInt8(clamping: label.utf8.count))
            bytes += label.utf8.prefix(63)
        }
        bytes.append(0)
        bytes.append(word: type.rawValue)
        bytes.append(word: 1)
        bytes.append(0)
        for word: UInt16 in [41, 1232, 0, 0, 0] { bytes.append(word: word) }
        return bytes
    }

    /// The answer to a question.
    ///
    /// - Returns: nil when the message answers another question.
    /// - Throws: `Malformed`.
    init?(_ bytes: [UInt8], to name: String, _ type: DNSRecordType, id: UInt16) throws(Malformed) {
        var reader = DNSReader(bytes)
        guard try reader.word() == id else { return nil }
        let flags = try reader.word()
        guard flags & 0x8000 != 0 else { return nil }
        isTruncated = flags & 0x0200 != 0
        code = UInt8(flags & 0x000f)
        let counts = (try reader.word(), try reader.word(), try reader.word())
        _ = try reader.word()
        guard counts.0 == 1 else { return nil }
        let (asked, kind) = (try reader.name(), try reader.word())
        _ = try reader.word()
        guard asked == name.lowercased(), kind == type.rawValue else { return nil }
        do throws(Malformed) {
            answers = try reader.records(counts.1)
            let authority = try reader.records(counts.2)
            absenceTTL =
                authority.compactMap { record -> UInt32? in
                    guard case .absence(let ttl) = record.value else { return nil }
                    return min(ttl, record.ttl)
                }.first
        } catch {
            // A datagram that was cut off may end within a record.
            guard isTruncated else { throw error }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(word: UInt16) {
        append(UInt8(word >> 8))
        append(UInt8(word & 0xff))
    }
}

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
