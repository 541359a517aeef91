// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet

extension Doctor {
    func findings(of listener: ListenerConfiguration) -> [Finding] {
        var found = [buffer(listener), sourceCheck(listener)].compactMap { $0 }
        guard listener.mode.needsInterface, let name = listener.interface else { return found }
        guard let interface = host.interfaces[name] ?? nil else {
            found.append(
                .problem(
                    "listener \(listener.name)", "there is no interface \(name)",
                    do: "write one that `ip link show` lists"))
            return found
        }
        found += [
            mtu(listener, name, interface), queues(listener, name, interface),
            forwarding(listener, name, interface),
        ].compactMap { $0 }
        return found
    }

    private func buffer(_ listener: ListenerConfiguration) -> Finding? {
        let wanted = listener.settings.receiveBufferBytes
        guard listener.mode == .userspace, wanted > 0 else { return nil }
        let check = "receive buffer of \(listener.name)"
        if wanted <= host.receiveBufferMax || host.capabilities.contains(.netAdmin) {
            return .ok(check, "\(wanted) bytes")
        }
        return .problem(
            check, "\(wanted) bytes are wanted, net.core.rmem_max allows \(host.receiveBufferMax)",
            do: "sysctl -w net.core.rmem_max=\(wanted)")
    }

    /// Receivers answer the client directly, and what leaves here has a source that is not ours.
    private func sourceCheck(_ listener: ListenerConfiguration) -> Finding? {
        guard listener.preserveSource else { return nil }
        let own = listener.interface.flatMap { host.interfaces[$0] ?? nil }?.sourceCheck ?? 0
        // The larger of the two holds (Documentation/networking/ip-sysctl.rst, rp_filter).
        guard max(own, host.sourceCheckEverywhere) == 1 else { return nil }
        return .advice(
            "source check for \(listener.name)",
            "rp_filter is 1: answers that come back another way are dropped",
            do: "sysctl -w net.ipv4.conf.all.rp_filter=2, on the receivers too")
    }

    private func mtu(
        _ listener: ListenerConfiguration, _ name: String, _ interface: HostFacts.Interface
    ) -> Finding? {
        let check = "MTU of \(name)"
        // A page less what a driver keeps for itself and the metadata.
        if [.afXDP, .xdpNAT].contains(listener.mode), interface.mtu > 3498 {
            return .advice(
                check, "\(interface.mtu) bytes: many drivers have no native XDP above 3498",
                do: "ip link set \(name) mtu 3498, or accept the slower generic mode")
        }
        let longest = interface.mtu - 28
        guard listener.settings.maxPacketSize > longest else {
            return .ok(check, "\(interface.mtu) bytes")
        }
        return .advice(
            check,
            "\(interface.mtu) bytes: datagrams of more than \(longest) bytes arrive in fragments, "
                + "of which a kernel mode forwards none or all to one receiver",
            do: "raise the MTU along the path, or write max_packet_size: \(longest)")
    }

    private func queues(
        _ listener: ListenerConfiguration, _ name: String, _ interface: HostFacts.Interface
    ) -> Finding? {
        guard listener.mode == .afXDP else { return nil }
        if interface.receiveQueues <= host.cpus {
            return .ok("queues of \(name)", "\(interface.receiveQueues), \(host.cpus) CPUs")
        }
        return .advice(
            "queues of \(name)", "\(interface.receiveQueues) for \(host.cpus) CPUs",
            do: "ethtool -L \(name) combined \(host.cpus)")
    }

    private func forwarding(
        _ listener: ListenerConfiguration, _ name: String, _ interface: HostFacts.Interface
    ) -> Finding? {
        guard listener.mode == .tcEBPF || listener.mode == .xdpNAT else { return nil }
        let families = Set(listener.downstreams.map(\.address.address.family))
        var missing: [String] = []
        if families.contains(.v4), !interface.forwardsV4 {
            missing.append("net.ipv4.conf.\(name).forwarding")
        }
        if families.contains(.v6), !host.forwardsV6Everywhere {
            // Which turns on the interfaces' own, too.
            missing.append("net.ipv6.conf.all.forwarding")
        } else if families.contains(.v6), !interface.forwardsV6 {
            missing.append("net.ipv6.conf.\(name).forwarding")
        }
        guard !missing.isEmpty else { return .ok("forwarding at \(name)", "on") }
        return .problem(
            "forwarding at \(name)", "off: the kernel sends on nothing that comes in here",
            do: missing.map { "sysctl -w \($0)=1" }.joined(separator: "; "))
    }
}
