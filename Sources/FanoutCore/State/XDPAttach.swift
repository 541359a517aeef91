// SPDX-License-Identifier: Apache-2.0

/// Where a mode that uses XDP meets packets on an interface. The raw value is the spelling in YAML and
/// logs.
public enum XDPAttach: String, CaseIterable, Hashable, Sendable {
    /// In the driver, and where that refuses in the network stack. For `xdp_nat` on a veth in the stack
    /// at once: what a driver's program sends there is lost unless the other end has XDP or GRO.
    case auto
    /// In the driver, before the kernel makes anything of a packet, or not at all.
    case native
    /// In the network stack: on every interface, and slower.
    case skb
}
