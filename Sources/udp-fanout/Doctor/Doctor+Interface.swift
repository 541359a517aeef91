// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

extension Doctor {
    /// What holds for an interface, said once for all listeners that share it.
    var interfaces: [Finding] {
        var seen: Set<String> = []
        let named = listeners.filter(\.mode.needsInterface)
        return named.compactMap(\.interface).filter { seen.insert($0).inserted }
            .flatMap { name -> [Finding] in
                guard let interface = host.interfaces[name] ?? nil else { return [] }
                let sharing = named.filter { $0.interface == name }
                return [
                    mtu(name, interface, sharing), queues(name, interface, sharing),
                    tags(name, interface, sharing),
                ].compactMap { $0 }
            } + [IPAddress.Family.v4, .v6].compactMap(forwarding)
    }

    private func mtu(
        _ name: String, _ interface: HostFacts.Interface, _ listeners: [Listener]
    ) -> Finding {
        let check = "MTU of \(name)"
        // A page less what a driver keeps for itself and the metadata.
        if listeners.contains(where: { $0.mode != .tcEBPF }), interface.mtu > 3498 {
            return .advice(
                check, "\(interface.mtu) bytes: many drivers have no native XDP above 3498",
                do: "ip link set \(name) mtu 3498, or accept the slower generic mode")
        }
        return .ok(check, "\(interface.mtu) bytes")
    }

    private func queues(
        _ name: String, _ interface: HostFacts.Interface, _ listeners: [Listener]
    ) -> Finding? {
        guard listeners.contains(where: { $0.mode == .afXDP }) else { return nil }
        let queues = interface.queues
        if queues.receive <= host.cpus {
            return .ok("queues of \(name)", "\(queues.receive), \(host.cpus) CPUs")
        }
        let command = queues.command(setting: host.cpus, of: name)
        return .advice(
            "queues of \(name)", "\(queues.receive) for \(host.cpus) CPUs",
            do: queues.areCombined ? command : "\(command), and as many at the other end of a veth")
    }

    /// An XDP program knows what is in a VLAN by its tag alone.
    private func tags(
        _ name: String, _ interface: HostFacts.Interface, _ listeners: [Listener]
    ) -> Finding? {
        guard listeners.contains(where: { [.afXDP, .xdpNAT].contains($0.mode) }),
            interface.stripsTags, !interface.isVeth || !interface.vlans.isEmpty
        else { return nil }
        let vlans =
            interface.vlans.isEmpty ? "a VLAN" : interface.vlans.sorted().joined(separator: ", ")
        return .advice(
            "VLAN tags of \(name)",
            "the driver strips them before XDP, so datagrams of \(vlans) look untagged and are served",
            do: "ethtool -K \(name) rxvlan off"
                + (interface.vlans.isEmpty ? ", if tagged frames arrive there" : ""))
    }

    /// Where packets of a family have to be allowed to go on: what `tc_ebpf` cannot send itself, by its
    /// listener's interface; of `xdp_nat`, whose program asks the kernel's routes, everything by the
    /// interfaces of clients and of servers (kernel: bpf_fib_lookup, BPF_FIB_LKUP_RET_FWD_DISABLED).
    private func forwarding(_ family: IPAddress.Family) -> Finding? {
        var concerned: [String] = []
        for listener in listeners {
            guard let name = listener.interface, (host.interfaces[name] ?? nil) != nil else {
                continue
            }
            let receivers = listener.downstreams.map(\.endpoint.address).filter {
                $0.family == family
            }
            switch listener.mode {
            case .tcEBPF where receivers.contains(where: host.forwarded.contains):
                concerned.append(name)
            case .xdpNAT where !listener.nat.isOneArm && !receivers.isEmpty:
                concerned += [name] + receivers.compactMap { host.exits[$0] }
            default: continue
            }
        }
        guard !concerned.isEmpty else { return nil }
        let check = family == .v4 ? "forwarding of IPv4" : "forwarding of IPv6"
        let off = Set(concerned).filter { !forwards(family, by: $0) }.sorted()
        guard !off.isEmpty else { return .ok(check, "on") }
        let isOnElsewhere = family == .v4 ? host.forwardsV4Everywhere : host.forwardsV6Everywhere
        let settings =
            if isOnElsewhere {
                off.map { "net.\(family == .v4 ? "ipv4" : "ipv6").conf.\($0).forwarding=1" }
            } else {
                // Turns on those of all interfaces as well.
                [family == .v4 ? "net.ipv4.ip_forward=1" : "net.ipv6.conf.all.forwarding=1"]
            }
        return .problem(
            check,
            "off at \(off.joined(separator: ", ")): the kernel sends on nothing that comes in there",
            do: "sysctl -w " + settings.joined(separator: " "))
    }

    /// Of IPv6 the stack asks for the host's setting, lookups of routes by programs for the interface's.
    private func forwards(_ family: IPAddress.Family, by name: String) -> Bool {
        let interface = (host.interfaces[name] ?? nil) ?? HostFacts.Interface()
        switch family {
        case .v4: return interface.forwardsV4
        case .v6: return interface.forwardsV6 && host.forwardsV6Everywhere
        }
    }
}
