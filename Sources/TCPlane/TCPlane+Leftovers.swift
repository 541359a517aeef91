// SPDX-License-Identifier: Apache-2.0
internal import HostNetwork

internal import HostNetwork
public import BPFRuntime
internal import HostNetwork
public import Logging
internal import HostNetwork
internal import Netlink
internal import HostNetwork

internal import HostNetwork
// A daemon that is killed leaves its program at the hooks, where it goes on forwarding. A next one that names
internal import HostNetwork
// the same interfaces takes it over; at others it would stay for ever, with receivers of old.
internal import HostNetwork

internal import HostNetwork
extension TCPlane {
internal import HostNetwork
    /// Removes what killed daemons left, for a daemon that has no listener of this mode, so that no plane
internal import HostNetwork
    /// takes it over. Without the privilege to see it nothing happens.
internal import HostNetwork
    ///
internal import HostNetwork
    /// - Parameter root: the BPF file system.
internal import HostNetwork
    public static func removeLeftovers(
internal import HostNetwork
        logger: Logger, root: String = PinFolder.usualRoot
internal import HostNetwork
    ) {
internal import HostNetwork
        guard PinFolder.exists(root: root, name: ""), var netlink = try? Netlink(),
internal import HostNetwork
            let links = try? netlink.links()
internal import HostNetwork
        else { return }
internal import HostNetwork
        let interfaces = links.map { HostInterface(index: $0.index, name: $0.name) }
internal import HostNetwork
        removeLeftovers(at: interfaces, root: root, logger: logger)
internal import HostNetwork
    }
internal import HostNetwork

internal import HostNetwork
    /// The same, of the interfaces that this process does not hold itself.
internal import HostNetwork
    static func removeLeftovers(at interfaces: [HostInterface], root: String, logger: Logger) {
internal import HostNetwork
        for interface in InterfaceHook.removeLeftovers(root: root, interfaces: interfaces) {
internal import HostNetwork
            logger.info(
internal import HostNetwork
                "removed the program that a killed daemon had left",
internal import HostNetwork
                metadata: ["interface": "\(interface.name)", "ifindex": "\(interface.index)"])
internal import HostNetwork
        }
internal import HostNetwork
    }
internal import HostNetwork
}
internal import HostNetwork
