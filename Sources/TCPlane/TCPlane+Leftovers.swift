// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import HostNetwork
internal import Logging

// A daemon that is killed leaves its program at the hooks, where it goes on forwarding. A next one that names
// the same interfaces takes it over; at others it would stay for ever, with receivers of old.

extension TCPlane {
    /// Without the privilege to see what is there nothing happens; nor where listeners could not have back what
    /// was left to another process, since what is there serves them.
    public func removeLeftovers() {
        guard listeners.isEmpty || !hooks.isEmpty, PinFolder.exists(root: root, name: "") else {
            return
        }
        let left = InterfaceHook.removeLeftovers(
            root: root, interfaces: HostInterface.present, but: Set(hooks.keys))
        for interface in left {
            logger.info(
                "removed the program that a former daemon had left",
                metadata: ["interface": "\(interface.name)", "ifindex": "\(interface.index)"])
        }
    }
}
