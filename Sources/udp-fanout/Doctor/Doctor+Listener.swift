// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

extension Doctor {
    func findings(of listener: Listener) -> [Finding] {
        var found = [buffer(listener), sourceCheck(listener)].compactMap { $0 }
        guard listener.mode.needsInterface, let name = listener.interface else { return found }
        guard let interface = host.interfaces[name] ?? nil else {
            found.append(
                .problem(
                    "listener \(listener.name)", "there is no interface \(name)",
                    do: "write one that `ip link show` lists"))
            return found
        }
        return found + [fragments(listener, interface)].compactMap { $0 }
    }

    /// Who leaves fragments to the kernel's stack. Of `tc_ebpf` and `xdp_nat` they follow the first one, which
    /// bears the length of all: a lower `max_packet_size` would have them dropped.
    private func fragments(
        _ listener: Listener, _ interface: HostFacts.Interface
    ) -> Finding? {
        guard listener.mode == .afXDP else { return nil }
        // What a frame of 4 KiB holds of an IP packet: docs/af-xdp.md.
        let isLimitedByFrames = interface.mtu >= 3818
        let headers = listener.servesV4 ? 20 + 8 : 40 + 8
        let longest = min(interface.mtu, 3818) - headers
        guard listener.settings.maxPacketSize > longest else { return nil }
        return .advice(
            "longest datagram of \(listener.name)",
            "those of more than \(longest) bytes "
                + (isLimitedByFrames ? "fit no frame" : "arrive in fragments")
                + ", and af_xdp leaves them to the kernel's stack",
            do: (isLimitedByFrames ? "" : "raise the MTU along the path, ")
                + "write mode: tc_ebpf, which forwards them, or max_packet_size: \(longest)")
    }

    private func buffer(_ listener: Listener) -> Finding? {
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
    private func sourceCheck(_ listener: Listener) -> Finding? {
        guard listener.preserveSource else { return nil }
        let own = listener.interface.flatMap { host.interfaces[$0] ?? nil }?.sourceCheck ?? 0
        // The larger of the two holds (Documentation/networking/ip-sysctl.rst, rp_filter).
        guard max(own, host.sourceCheckEverywhere) == 1 else { return nil }
        return .advice(
            "source check for \(listener.name)",
            "rp_filter is 1: answers that come back another way are dropped",
            do: "sysctl -w net.ipv4.conf.all.rp_filter=2, on the receivers too")
    }
}

extension Listener {
    /// Whether datagrams of IPv4 come to it. Their headers are the shorter ones, so more of them arrives whole.
    fileprivate var servesV4: Bool {
        switch served {
        case .any: true
        case .listed(let more):
            bind.address.isWildcard || ([bind.address] + more).contains { $0.family == .v4 }
        }
    }
}
