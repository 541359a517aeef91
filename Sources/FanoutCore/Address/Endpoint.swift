// SPDX-License-Identifier: Apache-2.0

/// An address and a UDP port, written `ip:port` or `[ip6]:port`.
public struct Endpoint: Hashable, Sendable {
    public let address: IPAddress
    /// 1...65535.
    public let port: UInt16

    public init(_ address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// Leaves out the zone: endpoints that differ only in it are rare, and thousands are looked up at a time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(address.high)
        hasher.combine(address.low ^ UInt64(port) << 48)
    }
}

extension Endpoint {
    /// Whether this endpoint also takes every datagram to `other`. `[::]` serves IPv4 as well.
    public func covers(_ other: Endpoint) -> Bool {
        guard port == other.port else { return false }
        let isWide = address.isWildcard && (address.family == .v6 || other.address.family == .v4)
        return isWide || address == other.address
    }

    /// Whether one datagram can match both.
    public func overlaps(_ other: Endpoint) -> Bool { covers(other) || other.covers(self) }
}

extension Endpoint: CustomStringConvertible {
    public var description: String {
        switch address.family {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)]:\(port)"
        }
    }

    /// Why a text is not an endpoint, as the last part of a configuration error.
    public enum Malformed: Error, Equatable {
        case port(String)
        case address(String)
        case shape

        public var reason: String {
            switch self {
            case .port(let text): "'\(text)' is not a port; write a number from 1 to 65535"
            case .address(let text):
                "'\(text)' is not an IP address (names are not resolved); "
                    + "write ip:port, such as 192.0.2.1:514 or [2001:db8::1]:514"
            case .shape: "write ip:port, such as 192.0.2.1:514 or [2001:db8::1]:514"
            }
        }
    }

    /// - Throws: `Malformed` if `text` is not `ip:port` or `[ip6]:port` with a port of 1...65535.
    public init(parsing text: String) throws(Malformed) {
        let host: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            guard let close = text.lastIndex(of: "]") else { throw .shape }
            host = text[text.index(after: text.startIndex)..<close]
            guard text[text.index(after: close)...].first == ":" else { throw .shape }
            rest = text[text.index(after: close)...].dropFirst()
            guard host.contains(":") else { throw .address(String(host)) }
        } else {
            guard let colon = text.lastIndex(of: ":") else { throw .shape }
            host = text[..<colon]
            rest = text[text.index(after: colon)...]
            // An IPv6 address without brackets would make the port ambiguous.
            guard !host.contains(":") else { throw .shape }
        }
        guard let address = IPAddress(host) else { throw .address(String(host)) }
        guard let port = UInt16(digits: rest), port != 0 else { throw .port(String(rest)) }
        self.init(address, port: port)
    }
}

extension Endpoint: Comparable {
    /// By address, then port: the same order on every host, whatever the order in the configuration.
    public static func < (left: Endpoint, right: Endpoint) -> Bool {
        // Not as tuples: thousands are sorted at a time, and the texts rarely matter.
        let (a, b) = (left.address, right.address)
        if a.high != b.high { return a.high < b.high }
        if a.low != b.low { return a.low < b.low }
        if left.port != right.port { return left.port < right.port }
        return (a.zone ?? "") < (b.zone ?? "")
    }
}
