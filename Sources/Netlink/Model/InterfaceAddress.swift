// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore

/// An address that an interface bears, as RTM_NEWADDR describes it (rtnetlink(7)).
public struct InterfaceAddress: Hashable, Sendable {
    /// The interface.
    public let interface: UInt32
    /// This host's end of a point-to-point link. Without a zone: a link-local address is on
    /// `interface`.
    public let address: IPAddress
    /// Bits of the network, 0...32 or 0...128.
    public let prefixLength: UInt8
    public let scope: Scope
    /// An IPv6 address that the kernel does not answer to: it is still being looked for on the
    /// link, or was found there (RFC 4862, section 5.4).
    public let isTentative: Bool

    /// How far an address is known (RT_SCOPE_*, linux/rtnetlink.h).
    public enum Scope: Hashable, Sendable {
        case global, site, link, host, nowhere
        /// One of the administrator's.
        case other(UInt8)

        init(_ number: UInt8) {
            self =
                switch number {
                case 0: .global
                case 200: .site
                case 253: .link
                case 254: .host
                case 255: .nowhere
                default: .other(number)
                }
        }
    }
}

extension InterfaceAddress {
    /// Reads RTM_NEWADDR or RTM_DELADDR.
    init?(_ message: NetlinkMessage) {
        guard let (header, attributes) = message.parts(ifaddrmsg.self),
            // With a peer IFA_ADDRESS is the peer's; without one IPv6 leaves IFA_LOCAL out.
            let address = attributes.address(IFA_LOCAL) ?? attributes.address(IFA_ADDRESS)
        else { return nil }
        interface = header.ifa_index
        self.address = address
        prefixLength = header.ifa_prefixlen
        scope = Scope(header.ifa_scope)
        isTentative = Int32(header.ifa_flags) & (IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0
    }
}
