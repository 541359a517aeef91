// SPDX-License-Identifier: Apache-2.0

/// `listeners[].addresses`: destinations that a kernel mode serves besides those of `bind`.
public enum ServedAddresses: Hashable, Sendable {
    /// These as well, such as a virtual address that no interface bears.
    case listed([IPAddress])
    /// Every destination on the port, traffic in transit included.
    case any
}
