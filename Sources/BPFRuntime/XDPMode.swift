// SPDX-License-Identifier: Apache-2.0

/// Where on an interface an XDP program meets packets.
public enum XDPMode: String, CaseIterable, Sendable {
    /// In the driver, before the kernel makes anything of a packet.
    case native
    /// In the network stack, for drivers without the hook: slower, and behind the driver's own offloads.
    case skb

    /// XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE (include/uapi/linux/if_link.h).
    var flag: UInt32 {
        switch self {
        case .native: 1 << 2
        case .skb: 1 << 1
        }
    }
}
