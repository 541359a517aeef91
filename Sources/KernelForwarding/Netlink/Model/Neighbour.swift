// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// A host on the same link, resolved by ARP or neighbour discovery (RTM_NEWNEIGH, rtnetlink(7)).
public struct Neighbour: Hashable, Sendable {
    public let interface: UInt32
    /// Without a zone: a link-local address is on `interface`.
    public let address: IPAddress
    /// nil while it is not resolved, and on links without 48-bit addresses.
    public let mac: MACAddress?
    public let state: State

    /// A state of the kernel's state machine (RFC 4861, section 7.3.2; NUD_*, linux/neighbour.h).
    public enum State: String, CaseIterable, Hashable, Sendable {
        /// Not probed yet.
        case none
        /// Probed, without a reply so far.
        case incomplete
        /// Replied recently.
        case reachable
        /// Replied some time ago; probed after the next packet.
        case stale
        /// Stale, with a packet sent: probed soon.
        case delay
        /// Probed again.
        case probe
        /// Did not reply: packets to it are lost until the next probe.
        case failed
        /// Needs no resolution: multicast, or a link without addresses.
        case noARP
        /// Set by the administrator.
        case permanent

        init(_ bits: UInt16) {
            self =
                switch Int32(bits) {
                case NUD_INCOMPLETE: .incomplete
                case NUD_REACHABLE: .reachable
                case NUD_STALE: .stale
                case NUD_DELAY: .delay
                case NUD_PROBE: .probe
                case NUD_FAILED: .failed
                case NUD_NOARP: .noARP
                case NUD_PERMANENT: .permanent
                default: .none
                }
        }
    }

    /// Whether the kernel would send a packet to it at once (NUD_VALID, include/net/neighbour.h).
    public var isResolved: Bool {
        switch state {
        case .reachable, .stale, .delay, .probe, .noARP, .permanent: true
        case .none, .incomplete, .failed: false
        }
    }
}

extension Neighbour {
    /// Reads RTM_NEWNEIGH or RTM_DELNEIGH; nil for entries of bridges and for proxy entries, which are not neighbours.
    init?(_ message: NetlinkMessage) {
        guard let (header, attributes) = message.parts(ndmsg.self),
            [AF_INET, AF_INET6].contains(Int32(header.ndm_family)),
            Int32(header.ndm_flags) & NTF_PROXY == 0,
            let address = attributes.address(NDA_DST)
        else { return nil }
        interface = UInt32(bitPattern: header.ndm_ifindex)
        self.address = address
        state = State(header.ndm_state)
        mac = attributes.mac(NDA_LLADDR)
    }
}
