// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// What the kernel knows of a host on the same link, by ARP or neighbour discovery (RTM_NEWNEIGH,
/// rtnetlink(7)).
public struct Neighbour: Hashable, Sendable {
    public let interface: UInt32
    /// Without a zone: a link-local address is on `interface`.
    public let address: IPAddress
    /// nil as long as it is not known, and on links without 48-bit addresses.
    public let mac: MACAddress?
    public let state: State

    /// Of the kernel's machine (RFC 4861, section 7.3.2; NUD_*, linux/neighbour.h).
    public enum State: String, CaseIterable, Hashable, Sendable {
        /// Nothing was asked yet.
        case none
        /// Asked, and no answer yet.
        case incomplete
        /// Answered a short while ago.
        case reachable
        /// Answered some time ago; will be asked after the next packet.
        case stale
        /// Stale, with a packet sent: will be asked in a moment.
        case delay
        /// Being asked again.
        case probe
        /// Did not answer: packets to it are lost until it is asked anew.
        case failed
        /// Needs no asking: multicast, or a link without addresses.
        case noARP
        /// The administrator's.
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
    /// Reads RTM_NEWNEIGH or RTM_DELNEIGH; nil for the entries of bridges and for addresses that
    /// this host answers for (proxies), which are no neighbours.
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
