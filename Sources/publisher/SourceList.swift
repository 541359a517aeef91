// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The value of `--sources`: addresses and CIDR blocks, comma separated, in the order given.
struct SourceList: Equatable, Sendable {
    /// One or more of one family, each once, at most `most`.
    let addresses: [IPAddress]

    static let most = 65_536

    /// Why a text is no such list, with a remedy.
    struct Malformed: Error, Equatable {
        let reason: String
    }

    init(parsing text: String) throws(Malformed) {
        var addresses: [IPAddress] = []
        for piece in text.split(separator: ",", omittingEmptySubsequences: false) {
            let more = try Self.expand(piece)
            guard addresses.count + more.count <= Self.most else {
                throw Malformed(
                    reason: "more than \(Self.most) addresses; list fewer, or smaller blocks")
            }
            addresses += more
        }
        var seen: Set<IPAddress> = []
        for address in addresses {
            guard address.family == addresses[0].family else {
                throw Malformed(
                    reason: "\(addresses[0]) and \(address) are of two families; "
                        + "start one publisher for each")
            }
            guard seen.insert(address).inserted else {
                throw Malformed(reason: "\(address) is listed twice; list it once")
            }
        }
        self.addresses = addresses
    }

    private static func expand(_ piece: Substring) throws(Malformed) -> [IPAddress] {
        let parts = piece.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]), address.zone == nil else {
            throw Malformed(
                reason:
                    "'\(piece)' is not an address or block; must be like 10.0.0.1,10.0.1.0/24 or "
                    + "2001:db8::/112, without spaces and zones")
        }
        guard !address.isWildcard || parts.count == 2, !address.isMulticastOrBroadcast else {
            throw Malformed(
                reason: "\(address) is no source address; use addresses of this host")
        }
        return parts.count == 1 ? [address] : try block(address, parts[1], piece)
    }

    private static func block(
        _ first: IPAddress, _ prefix: Substring, _ piece: Substring
    ) throws(Malformed) -> [IPAddress] {
        let width = first.family == .v4 ? 32 : 128
        guard let length = Int(digits: prefix), length <= width else {
            throw Malformed(reason: "'\(piece)' has no prefix length of 0 to \(width)")
        }
        let hostBits = width - length
        guard hostBits <= 16 else {
            throw Malformed(
                reason: "\(piece) has more than \(most) addresses; use /\(width - 16) or longer")
        }
        let size = UInt64(1) << UInt64(hostBits)
        guard first.low & (size - 1) == 0 else {
            let start = IPAddress(high: first.high, low: first.low & ~(size - 1))
            throw Malformed(reason: "\(piece) is no block; use \(start)/\(length) or one address")
        }
        let all = (0..<size).map { IPAddress(high: first.high, low: first.low + $0) }
        guard first.family == .v4, length < 31 else { return all }
        // All of 127.0.0.0/8 is local, except its broadcast address.
        if first.isLoopback { return all.filter { $0.v4 != 0x7fff_ffff } }
        return Array(all.dropFirst().dropLast())
    }
}

extension Int {
    /// Parses decimal digits only.
    fileprivate init?(digits text: Substring) {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        self.init(text)
    }
}
