// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// What a name is known to be, for a time.
struct DNSAnswer: Equatable, Sendable {
    /// Of the name itself or of what it is an alias of; empty when there are none.
    var records: [DNSRecord]
    /// How long it may be believed.
    var ttl: Duration
}

/// Asks the servers of this host, one after the other, until one answers.
struct DNSResolver: Sendable {
    let servers: @Sendable () -> DNSServers

    /// How long an absence is believed when the server does not say, and at most when it does: a
    /// receiver may come at any time. In seconds.
    static let usualAbsence: UInt32 = 5
    static let longestAbsence: UInt32 = 30

    /// - Returns: also when there is no such name or record: that is an answer.
    /// - Throws: `DNSFailure`, the last of them, when no server gave one.
    func ask(_ name: String, _ type: DNSRecordType) async throws(DNSFailure) -> DNSAnswer {
        let list = servers()
        var last = DNSFailure(code: "connection", detail: "no server")
        for _ in 0..<list.attempts {
            for server in list.servers {
                if Task.isCancelled { throw last }
                do throws(DNSFailure) {
                    let exchange = DNSExchange(
                        name: name, type: type, server: server, timeout: list.timeout)
                    return try Self.answer(try await exchange.run(), name)
                } catch {
                    last = DNSFailure(code: error.code, detail: "\(server): \(error.detail)")
                }
            }
        }
        throw last
    }

    /// - Throws: `DNSFailure` when the server says that it could not or would not answer.
    private static func answer(
        _ message: DNSMessage, _ name: String
    ) throws(DNSFailure) -> DNSAnswer {
        switch message.code {
        case 0, 3: break
        case 2: throw DNSFailure(code: "servfail", detail: "the server failed")
        case 5: throw DNSFailure(code: "refused", detail: "the server refused")
        default: throw DNSFailure(code: "rcode", detail: "code \(message.code)")
        }
        var known: Set = [name.lowercased()]
        var shortest: UInt32 = .max
        var records: [DNSRecord] = []
        // Aliases stand before what they lead to, though nothing says that they must.
        for _ in 0..<8 {
            let before = known.count
            for record in message.answers where known.contains(record.name) {
                if case .alias(let target) = record.value, known.insert(target).inserted {
                    shortest = min(shortest, record.ttl)
                }
            }
            if known.count == before { break }
        }
        for record in message.answers where known.contains(record.name) {
            if case .alias = record.value { continue }
            records.append(record)
            shortest = min(shortest, record.ttl)
        }
        if records.isEmpty {
            if let fault = fault(of: message.answers, from: name.lowercased()) { throw fault }
            shortest = min(message.absenceTTL ?? usualAbsence, longestAbsence)
        }
        return DNSAnswer(records: records, ttl: .seconds(Int64(shortest)))
    }

    /// What is wrong with answers of which none is meant, where that does not say that there are no such records.
    private static func fault(of answers: [DNSRecord], from name: String) -> DNSFailure? {
        var passed: Set<String> = []
        var owner = name
        while case .alias(let target)? = answers.first(where: { $0.name == owner && $0.isAlias })?
            .value
        {
            guard passed.insert(owner).inserted else {
                return DNSFailure(code: "malformed", detail: "\(name) is an alias of itself")
            }
            owner = target
        }
        guard passed.isEmpty, !answers.isEmpty else { return nil }
        return DNSFailure(code: "malformed", detail: "the answer is about other names than \(name)")
    }
}

extension DNSRecord {
    fileprivate var isAlias: Bool { if case .alias = value { true } else { false } }
}

/// A question without an answer.
struct DNSFailure: Error, Equatable, Sendable {
    /// The metric label `code`.
    let code: String
    let detail: String
}

/// Whom to ask, as resolv.conf(5) says.
struct DNSServers: Equatable, Sendable {
    /// At most three, in the order in which they are asked.
    var servers: [Endpoint]
    /// How long to wait for the answer of one.
    var timeout = Duration.seconds(5)
    /// How often all of them are asked before it is given up.
    var attempts = 2

    init(_ servers: [Endpoint]) { self.servers = servers }

    /// What the file says; without one, or without servers in it, the one on this host.
    static func system(_ path: String = "/etc/resolv.conf") -> DNSServers {
        let bytes = (try? SmallFile.bytes(of: path, limit: 1 << 20)) ?? []
        return DNSServers(resolvConf: String(decoding: bytes, as: UTF8.self))
    }

    init(resolvConf text: String) {
        servers = []
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let key = words.first, words.count > 1 else { continue }
            if key == "nameserver", servers.count < 3, let address = IPAddress(words[1]) {
                servers.append(Endpoint(address, port: 53))
            }
            guard key == "options" else { continue }
            for option in words.dropFirst() {
                let parts = option.split(separator: ":")
                guard parts.count == 2, let number = Int(parts[1]) else { continue }
                // The limits of the C library.
                if parts[0] == "timeout" { timeout = .seconds(min(max(number, 1), 30)) }
                if parts[0] == "attempts" { attempts = min(max(number, 1), 5) }
            }
        }
        if servers.isEmpty { servers = [Endpoint(IPAddress(v4: 0x7f00_0001), port: 53)] }
    }
}
