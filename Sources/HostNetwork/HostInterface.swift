// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
package import Netlink

/// An interface as far as a plane that hooks into it is concerned.
package struct HostInterface: Equatable, Sendable {
    /// The kernel's number for it, above 0; another one when it is deleted and made again.
    package var index: UInt32
    /// As the configuration calls it.
    package var name: String
    /// Without zones.
    package var addresses: [IPAddress] = []
    /// The families of which the kernel forwards what comes in here.
    package var forwards: Set<IPAddress.Family> = []
    /// What `ip link add type` calls it; nil for hardware and the loopback.
    package var kind: String?
    /// As the kernel calls it now, which is not `name` when it was renamed after it had been hooked.
    package var nameNow: String
    /// Its link-layer address, 6 bytes; nil for links without one, such as tunnels.
    package var mac: [UInt8]?
    /// Set up by the administrator.
    package var isUp = true
    package var hasCarrier = true
    /// What its driver can do with frames of XDP; nil when that was not asked for, or the kernel does not say.
    package var features: XDPFeatures?

    package init(
        index: UInt32, name: String, addresses: [IPAddress] = [],
        forwards: Set<IPAddress.Family> = [], kind: String? = nil
    ) {
        self.index = index
        self.name = name
        self.addresses = addresses
        self.forwards = forwards
        self.kind = kind
        nameNow = name
    }

    /// Those that the host has now, by number and name alone; none when they cannot be asked for.
    package static var present: [HostInterface] {
        guard var netlink = try? Netlink(), let links = try? netlink.links() else { return [] }
        return links.map { HostInterface(index: $0.index, name: $0.name) }
    }
}
