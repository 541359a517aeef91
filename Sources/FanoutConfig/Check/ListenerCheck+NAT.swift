// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension ListenerCheck {
    /// The keys of mode `xdp_nat`, in that mode and in others.
    func checkNAT(_ mode: ForwardingMode) {
        guard mode == .xdpNAT else {
            for (_, origin) in draft.nat.written {
                findings.error(
                    at: origin, "has no meaning in mode \(mode.rawValue)",
                    "remove it, or write mode: xdp_nat")
            }
            return
        }
        checkPlace()
        if let addresses = draft.addresses, addresses.value == .any {
            findings.error(
                at: addresses.origin,
                "answers leave as the address that the client spoke to, which has to be known",
                "write a list of addresses")
        }
        checkReceiversOfNAT()
    }

    /// `bind`, or `vip` with `ports`.
    private func checkPlace() {
        let vip = draft.nat.origin(of: .listenerVIP)
        let ports = draft.nat.origin(of: .listenerPorts)
        if draft.hasBind, let other = vip ?? ports {
            findings.error(
                at: other, "stands beside bind",
                "remove bind, or write the address and port there alone")
        } else if vip != nil, ports == nil {
            findings.error(
                at: key(.listenerPorts), "is missing", ConfigKey.listenerPorts.type.remedy)
        } else if ports != nil, vip == nil {
            findings.error(at: key(.listenerVIP), "is missing", ConfigKey.listenerVIP.type.remedy)
        }
    }

    private func checkReceiversOfNAT() {
        let ports = draft.nat.ports?.value ?? []
        if let origin = draft.receiverPortOrigin, ports.count > 1,
            let port = draft.file?.port ?? draft.dns?.port, port != ports[0]
        {
            findings.error(
                at: origin,
                "\(port) is one port, and the listener has \(ports.count), which its receivers share",
                "write \(ports[0]), which stands for all of them, or a listener for each port")
        }
        for address in (draft.downstreams ?? []).compactMap(\.address) {
            if address.value.address.isLoopback {
                findings.error(
                    at: address.origin,
                    "\(address.value) is a loopback address, and what comes in by an interface is "
                        + "not for it",
                    "write an address of a network, or mode: userspace")
            } else if ports.count > 1, address.value.port != ports[0] {
                findings.error(
                    at: address.origin,
                    "\(address.value) names a port, and the listener has \(ports.count), which "
                        + "its receivers share",
                    "write \(address.value.address) without a port, or a listener for each port")
            }
        }
    }
}
