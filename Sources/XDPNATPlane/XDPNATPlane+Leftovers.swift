// SPDX-License-Identifier: Apache-2.0

public import BPFRuntime
internal import HostNetwork
public import Logging

// A daemon that is killed leaves its program and what that remembers. The next one that names the interface
// takes both over; without one they would stay for ever.

extension XDPNATPlane {
    /// Removes what killed daemons left, for a daemon that has no listener of this mode, so that no plane
    /// takes it over. Without the privilege to see it nothing happens.
    ///
    /// - Parameter root: the BPF file system.
    public static func removeLeftovers(
        logger: Logger, root: String = PinFolder.usualRoot
    ) {
        guard PinFolder.exists(root: root, name: "") else { return }
        removeLeftovers(at: HostInterface.present, root: root, logger: logger)
    }

    /// The same, of the interfaces that this process does not hold itself.
    static func removeLeftovers(at interfaces: [HostInterface], root: String, logger: Logger) {
        for interface in NATHook.removeLeftovers(root: root, interfaces: interfaces) {
            logger.info(
                "removed the program and the associations that a former daemon had left",
                metadata: ["interface": "\(interface.name)", "ifindex": "\(interface.index)"])
        }
    }
}
