// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet

/// Judges whether a host can do what a configuration asks for: pure, from facts to findings.
struct Doctor {
    let host: HostFacts
    let configuration: Configuration
    /// Those of the configuration, with the receivers that have been found.
    let listeners: [Listener]

    init(host: HostFacts, configuration: Configuration) {
        self.host = host
        self.configuration = configuration
        listeners = host.listeners(of: configuration)
    }

    var findings: [Finding] {
        [kernel, capabilities, bpfFileSystem, openFiles, cluster].compactMap { $0 } + addresses
            + listeners.flatMap(unanswered(of:)) + listeners.flatMap(findings(of:)) + interfaces
            + listeners.flatMap(receivers(of:))
    }

    private var modes: Set<ForwardingMode> { Set(listeners.map(\.mode)) }

    private var needsBPF: Bool { !modes.subtracting([.userspace]).isEmpty }

    private var kernel: Finding {
        let version = "\(host.kernel.0).\(host.kernel.1)"
        // docs/kernels.md
        let needed =
            modes.map { mode in
                switch mode {
                case .userspace: (5, 0)
                case .tcEBPF: (5, 12)
                case .afXDP: (5, 18)
                case .xdpNAT: (6, 2)
                }
            }.max(by: <) ?? (5, 0)
        if host.kernel < needed {
            return .problem(
                "kernel", "Linux \(version)",
                do: "take Linux \(needed.0).\(needed.1) or later for the modes in use")
        }
        if modes.contains(.tcEBPF), host.kernel < (6, 6) {
            return .advice(
                "kernel", "Linux \(version) has no TCX hook, so tc_ebpf takes clsact",
                do: "take Linux 6.6 or later, or leave it as it is")
        }
        return .ok("kernel", "Linux \(version)")
    }

    private var capabilities: Finding {
        var limits = NetworkLimits()
        limits.firstFreePort = host.firstFreePort
        limits.receiveBufferMax = host.receiveBufferMax
        // Nothing that a mode does needs CAP_SYS_ADMIN, which is too much to advise.
        var needed = configuration.capabilities(limits: limits).subtracting(.sysAdmin)
        if host.mayLockAllMemory { needed.remove(.ipcLock) }
        let missing = needed.subtracting(host.capabilities)
        guard !missing.isEmpty else {
            return .ok("capabilities", "all that the configuration needs")
        }
        let names = missing.names
        let found =
            names.joined(separator: " and ") + (names.count == 1 ? " is" : " are") + " missing"
            + (host.isInUserNamespace ? " in this user namespace, root or not" : "")
        let remedy =
            host.isInUserNamespace
            ? "run it in the host's user namespace: PrivateUsers=no of the unit, hostUsers: true of the pod, "
                + "--userns=host of the container"
            : "run it as root, or grant \(names.count == 1 ? "it" : "them"): AmbientCapabilities= of the "
                + "unit, or setcap(8)"
        if !missing.isDisjoint(with: required) {
            return .problem("capabilities", found, do: remedy)
        }
        return .advice(
            "capabilities",
            "\(found): what asks for \(names.count == 1 ? "it" : "them") does without or fails",
            do: remedy)
    }

    /// Without these there is no start; without others something is slower, or smaller.
    private var required: Capabilities {
        listeners.reduce(into: Capabilities()) { required, listener in
            required.formUnion(listener.mode.capabilities)
            guard listener.mode == .userspace else { return }
            if listener.preserveSource { required.insert(.netRaw) }
            if Int(listener.bind.port) < host.firstFreePort { required.insert(.netBindService) }
        }
    }

    private var bpfFileSystem: Finding? {
        guard needsBPF else { return nil }
        if host.hasBPFFileSystem { return .ok("BPF file system", "at /sys/fs/bpf") }
        return .problem(
            "BPF file system", "nothing is mounted at /sys/fs/bpf",
            do: "mount -t bpf bpf /sys/fs/bpf")
    }

    /// Each worker has a socket of its own for each receiver.
    private var openFiles: Finding {
        let needed = listeners.filter { $0.mode == .userspace }.reduce(128) {
            let workers = $1.settings.workers > 0 ? $1.settings.workers : host.cpus
            return $0 + workers * (1 + $1.downstreams.count)
        }
        if needed <= host.openFilesMax {
            return .ok("open files", "\(host.openFilesMax) allowed, about \(needed) needed")
        }
        return .problem(
            "open files", "\(host.openFilesMax) allowed, about \(needed) needed",
            do: "raise the hard limit: LimitNOFILE= of the unit, or ulimit -Hn")
    }
}
