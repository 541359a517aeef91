// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// The VLAN tags of what an interface receives.
public enum InterfaceTags {
    /// Whether the driver strips them, before an XDP program sees the frame (`ethtool -k`: rx-vlan-offload).
    ///
    /// - Parameter name: of an interface in the calling thread's network.
    /// - Returns: false when the driver does not say, or there is no such interface.
    public static func areStripped(by name: String) -> Bool {
        // SAFETY: the call reads the name before it returns.
        unsafe cnet_strips_tags(name) == 1
    }
}
