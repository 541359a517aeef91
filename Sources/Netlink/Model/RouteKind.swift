// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import Glibc

/// What becomes of a packet that meets a route (RTN_*, rtnetlink(7)).
public enum RouteKind: Hashable, Sendable {
    /// It goes to the next hop.
    case unicast
    /// It is for this host.
    case local
    case broadcast, anycast, multicast
    /// It is dropped without a word.
    case blackhole
    /// It is dropped, and the sender gets ICMP host unreachable.
    case unreachable
    /// It is dropped, and the sender gets ICMP administratively prohibited.
    case prohibit
    /// The search goes on in the next table.
    case throwing
    case other(UInt8)

    init(_ number: UInt8) {
        self =
            switch Int(number) {
            case RTN_UNICAST: .unicast
            case RTN_LOCAL: .local
            case RTN_BROADCAST: .broadcast
            case RTN_ANYCAST: .anycast
            case RTN_MULTICAST: .multicast
            case RTN_BLACKHOLE: .blackhole
            case RTN_UNREACHABLE: .unreachable
            case RTN_PROHIBIT: .prohibit
            case RTN_THROW: .throwing
            default: .other(number)
            }
    }

    /// The route that a lookup ended at when it fails with this errno (`fib_props`,
    /// net/ipv4/fib_semantics.c); nil when that is not clear from it.
    init?(refusal errno: Int32) {
        switch errno {
        case EHOSTUNREACH: self = .unreachable
        case EACCES: self = .prohibit
        default: return nil
        }
    }
}
