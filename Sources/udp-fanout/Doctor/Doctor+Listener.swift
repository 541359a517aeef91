// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet

extension Doctor {
    func findings(of listener: ListenerConfiguration) -> [Finding] {
        var found = [buffer(listener), sourceCheck(listener)].compactMap { $0 }
        guard listener.mode.needsInterface, let name = listener.interface else { return found }
        if (host.interfaces[name] ?? nil) == nil {
            found.append(
                .problem(
                    "listener \(listener.name)", "there is no interface \(name)",
                    do: "write one that `ip link show` lists"))
        }
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
}
