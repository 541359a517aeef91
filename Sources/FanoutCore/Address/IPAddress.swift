// SPDX-License-Identifier: Apache-2.0

public import CDatapath

/// An IPv4 or IPv6 address, stored as in the kernel programs: two host-order words, IPv4 as `::ffff:a.b.c.d` (RFC
/// 4291, section 2.5.5.2).
///
/// A v4-mapped IPv6 address *is* the IPv4 address: both compare equal, print the same and have the same flow key.
public struct IPAddress: Hashable, Sendable {
    /// Bytes 0..7 of the 128 bits, host order; 0 for IPv4.
    public let high: UInt64
    /// Bytes 8..15, host order.
    public let low: UInt64
    /// The interface of a link-local IPv6 address, by name or number (RFC 4007); nil for IPv4.
    public let zone: String?

    /// - Parameter zone: ignored for an IPv4 address.
    public init(high: UInt64, low: UInt64, zone: String? = nil) {
        self.high = high
        self.low = low
        self.zone = Self.family(high: high, low: low) == .v6 ? zone : nil
    }

    /// The IPv4 address whose 32 bits are `v4`, host order.
    public init(v4: UInt32) {
        self.init(high: 0, low: LB_V4_MAPPED_PREFIX | UInt64(v4))
    }

    /// Leaves out the zone: addresses that differ only in it are rare, and thousands are looked up at a time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
    }

    public enum Family: String, Hashable, Sendable { case v4 = "IPv4", v6 = "IPv6" }

    public var family: Family { Self.family(high: high, low: low) }

    private static func family(high: UInt64, low: UInt64) -> Family {
        high == 0 && low & 0xffff_ffff_0000_0000 == LB_V4_MAPPED_PREFIX ? .v4 : .v6
    }

    /// The 32 bits of an IPv4 address, host order; meaningless for IPv6.
    public var v4: UInt32 { UInt32(truncatingIfNeeded: low) }

    /// `0.0.0.0` or `::`.
    public var isWildcard: Bool { family == .v4 ? v4 == 0 : high == 0 && low == 0 }

    /// 127.0.0.0/8 (RFC 1122, section 3.2.1.3) or `::1`.
    public var isLoopback: Bool { family == .v4 ? v4 >> 24 == 127 : high == 0 && low == 1 }

    /// 224.0.0.0/4, the limited broadcast address, or ff00::/8.
    public var isMulticastOrBroadcast: Bool {
        family == .v4 ? v4 >> 28 == 0xe || v4 == .max : high >> 56 == 0xff
    }

    /// fe80::/10: needs a zone to be reachable.
    public var isLinkLocal: Bool { family == .v6 && high >> 54 == 0x3fa }

    /// The input of the flow key, without the zone.
    public var datapath: lb_addr { lb_addr(high: high, low: low) }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or the canonical text of RFC 5952, followed by `%zone`.
    public var description: String {
        switch family {
        case .v4: return AddressText.v4(v4)
        case .v6: return AddressText.v6(high: high, low: low) + (zone.map { "%" + $0 } ?? "")
        }
    }

    /// Parses dotted decimal (four numbers without leading zeros) or any RFC 4291 spelling of IPv6, with an
    /// optional `%zone`; nil for anything else.
    public init?(_ text: some StringProtocol) {
        if let v4 = AddressText.parseV4(text) {
            self.init(v4: v4)
        } else if let v6 = AddressText.parseV6(text) {
            self = v6
        } else {
            return nil
        }
    }
}
