// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import LinuxNet

/// The record type of a question (RFC 1035 section 3.2.2, RFC 3596, RFC 2782).
enum DNSRecordType: UInt16, Hashable, Sendable {
    case a = 1
    case cname = 5
    case soa = 6
    case aaaa = 28
    case srv = 33
}

/// A record of a reply.
struct DNSRecord: Equatable, Sendable {
    enum Value: Equatable, Sendable {
        case address(IPAddress)
        case alias(String)
        case service(priority: UInt16, weight: UInt16, port: UInt16, target: String)
        /// The negative TTL of a name, in seconds (RFC 2308 section 5).
        case absence(ttl: UInt32)
    }

    /// In lower case, without a final dot.
    let name: String
    /// Seconds.
    let ttl: UInt32
    let value: Value
}

/// The answer about a name, with its TTL.
struct DNSAnswer: Equatable, Sendable {
    /// Of the name or the target of its alias; empty if there are none.
    var records: [DNSRecord]
    /// How long it is valid.
    var ttl: Duration
}

/// A question without an answer.
struct DNSFailure: Error, Equatable, Sendable {
    /// The metric label `code`.
    let code: String
    let detail: String
}

/// Queries name servers through the C library's resolver (resolver(3)), which fails over, retries and uses TCP for
/// long replies. Each question reads the current resolv.conf(5).
struct DNSResolver: Sendable {
    /// At most three; empty: those of resolv.conf(5).
    var servers: [Endpoint] = []
    /// Seconds to wait for a server; 0: as in resolv.conf(5).
    var timeout: Int32 = 0
    /// How often all servers are queried; 0: as in resolv.conf(5).
    var attempts: Int32 = 0

    /// The negative TTL if the server gives none, and the maximum otherwise, in seconds: a receiver may appear at
    /// any time.
    static let usualAbsence: UInt32 = 5
    static let longestAbsence: UInt32 = 30

    /// Queries on its own thread, because the C library blocks. A cancelled task returns at once; the thread ends
    /// when the library returns.
    ///
    /// - Returns: an answer, including that the name or record does not exist.
    /// - Throws: `DNSFailure` if no server answers.
    func ask(_ name: String, _ type: DNSRecordType) async throws(DNSFailure) -> DNSAnswer {
        let (results, continuation) = AsyncStream.makeStream(
            of: Result<DNSAnswer, DNSFailure>.self)
        do throws(SystemError) {
            try Thread(name: "dns") {
                continuation.yield(
                    Result { () throws(DNSFailure) in
                        try Self.answer(try query(name, type), about: name)
                    })
                continuation.finish()
            }.detach()
        } catch {
            throw DNSFailure(code: "connection", detail: "\(error)")
        }
        for await result in results { return try result.get() }
        throw DNSFailure(code: "connection", detail: "cancelled")
    }

    /// The records of a reply, empty if the name does not exist. Blocks.
    private func query(
        _ name: String, _ type: DNSRecordType
    ) throws(DNSFailure) -> [DNSRecord] {
        let names: [cnet_name]
        do throws(SystemError) {
            names = try servers.map { server throws(SystemError) in try server.native }
        } catch {
            throw DNSFailure(code: "connection", detail: "\(error)")
        }
        var records: [DNSRecord] = []
        // SAFETY: the call reads `names`, and hands `records` and each record to the closure while it runs.
        let code = unsafe withUnsafeMutablePointer(to: &records) { records in
            unsafe cnet_dns_ask(
                name, Int32(type.rawValue), names, Int32(names.count), timeout, attempts,
                { context, record in
                    guard let record = unsafe DNSRecord(record!.pointee) else { return }
                    unsafe context!.assumingMemoryBound(to: [DNSRecord].self).pointee.append(record)
                }, records)
        }
        let asked =
            servers.isEmpty
            ? "/etc/resolv.conf" : servers.map(\.description).joined(separator: ", ")
        switch code {
        case 0, 3: return records
        case 2: throw DNSFailure(code: "servfail", detail: "\(asked): the server failed")
        case 5: throw DNSFailure(code: "refused", detail: "\(asked): the server refused")
        case 1...: throw DNSFailure(code: "rcode", detail: "\(asked): code \(code)")
        default:
            let error = SystemError("ask \(asked)", code: -code)
            let codes = ["ETIMEDOUT": "timeout", "EBADMSG": "malformed"]
            throw DNSFailure(code: codes[error.name] ?? "connection", detail: "\(error)")
        }
    }

    /// The answer about a name in the records of a reply.
    static func answer(
        _ reply: [DNSRecord], about name: String
    ) throws(DNSFailure) -> DNSAnswer {
        var known: Set = [name.lowercased()]
        var shortest: UInt32 = .max
        var records: [DNSRecord] = []
        // Aliases usually precede their targets, but no standard requires it.
        for _ in 0..<8 {
            let before = known.count
            for record in reply where known.contains(record.name) {
                if case .alias(let target) = record.value, known.insert(target).inserted {
                    shortest = min(shortest, record.ttl)
                }
            }
            if known.count == before { break }
        }
        for record in reply where known.contains(record.name) {
            switch record.value {
            case .alias, .absence: continue
            case .address, .service: records.append(record)
            }
            shortest = min(shortest, record.ttl)
        }
        if records.isEmpty {
            if let fault = fault(of: reply, from: name.lowercased()) { throw fault }
            let absence = reply.lazy.compactMap(\.absenceTTL).first
            shortest = min(absence ?? usualAbsence, longestAbsence)
        }
        return DNSAnswer(records: records, ttl: .seconds(Int64(shortest)))
    }

    /// The fault of a reply without a usable record, unless it says that there are none.
    private static func fault(of reply: [DNSRecord], from name: String) -> DNSFailure? {
        var passed: Set<String> = []
        var owner = name
        while let target = reply.lazy.filter({ $0.name == owner }).compactMap(\.alias).first {
            guard passed.insert(owner).inserted else {
                return DNSFailure(code: "malformed", detail: "\(name) is an alias of itself")
            }
            owner = target
        }
        guard passed.isEmpty, reply.contains(where: { $0.absenceTTL == nil }) else { return nil }
        return DNSFailure(code: "malformed", detail: "the answer is about other names than \(name)")
    }
}

extension DNSRecord {
    /// Nil for other record types.
    fileprivate init?(_ record: cnet_dns_record) {
        let target = unsafe String(cString: record.target).lowercased()
        switch unsafe DNSRecordType(rawValue: record.type) {
        case .a, .aaaa: value = .address(unsafe IPAddress(high: record.high, low: record.low))
        case .cname: value = .alias(target)
        case .srv:
            value = .service(
                priority: unsafe record.priority, weight: unsafe record.weight,
                port: unsafe record.port, target: target)
        case .soa: value = .absence(ttl: unsafe min(record.absence_ttl, record.ttl))
        case nil: return nil
        }
        name = unsafe String(cString: record.name).lowercased()
        // A set sign bit means 0 (RFC 2181 section 8).
        ttl = unsafe record.ttl > 0x7fff_ffff ? 0 : record.ttl
    }

    fileprivate var alias: String? {
        if case .alias(let target) = value { target } else { nil }
    }

    fileprivate var absenceTTL: UInt32? {
        if case .absence(let ttl) = value { ttl } else { nil }
    }
}
