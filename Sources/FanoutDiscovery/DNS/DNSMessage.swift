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
