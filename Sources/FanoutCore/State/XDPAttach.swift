// SPDX-License-Identifier: Apache-2.0

/// Where `af_xdp` meets packets on an interface. The raw value is the spelling in YAML and logs.
public enum XDPAttach: String, CaseIterable, Hashable, Sendable {
    /// In the driver where that is possible, else in the network stack.
    case auto
    /// In the driver, before the kernel makes anything of a packet.
    case native
    /// In the network stack: any interface, and slower.
    case skb
}
