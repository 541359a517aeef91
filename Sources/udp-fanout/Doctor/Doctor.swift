// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet

/// Checks that a host supports a configuration: a pure function from facts to findings.
struct Doctor {
    let host: HostFacts
    let configuration: Configuration
    /// The configuration's listeners, with discovered receivers.
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
        // No mode needs CAP_SYS_ADMIN, which is too powerful to advise.
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

    /// The capabilities that the start requires; others only make it faster or buffers larger.
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

    /// Each worker has a socket for each receiver.
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

extension Doctor {
    /// Checks each interface once for all its listeners.
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
        // A page minus the driver's headroom and the metadata.
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

    /// An XDP program recognises a VLAN only by the tag.
    private func tags(
        _ name: String, _ interface: HostFacts.Interface, _ listeners: [Listener]
    ) -> Finding? {
        guard listeners.contains(where: \.mode.hooksXDP),
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

    /// Where forwarding of a family must be enabled. `tc_ebpf`: on the listener's interface, for packets that the
    /// program cannot send itself. `xdp_nat`, which looks routes up in the kernel: on the interfaces of clients and
    /// servers (kernel: bpf_fib_lookup, BPF_FIB_LKUP_RET_FWD_DISABLED).
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
                // Also enables it on all interfaces.
                [family == .v4 ? "net.ipv4.ip_forward=1" : "net.ipv6.conf.all.forwarding=1"]
            }
        return .problem(
            check,
            "off at \(off.joined(separator: ", ")): the kernel sends on nothing that comes in there",
            do: "sysctl -w " + settings.joined(separator: " "))
    }

    /// For IPv6 the stack reads the host's setting, and route lookups of programs read the interface's.
    private func forwards(_ family: IPAddress.Family, by name: String) -> Bool {
        let interface = (host.interfaces[name] ?? nil) ?? HostFacts.Interface()
        switch family {
        case .v4: return interface.forwardsV4
        case .v6: return interface.forwardsV6 && host.forwardsV6Everywhere
        }
    }
}

extension Doctor {
    func findings(of listener: Listener) -> [Finding] {
        var found = [buffer(listener), sourceCheck(listener)].compactMap { $0 }
        guard listener.mode.needsInterface, let name = listener.interface else { return found }
        guard let interface = host.interfaces[name] ?? nil else {
            found.append(
                .problem(
                    "listener \(listener.name)", "there is no interface \(name)",
                    do: "set one that `ip link show` lists"))
            return found
        }
        return found + [fragments(listener, interface)].compactMap { $0 }
    }

    /// `af_xdp` leaves fragments to the kernel's stack. `tc_ebpf` and `xdp_nat` forward them after the first one, which
    /// has the length of the whole datagram: a lower `max_packet_size` would drop them.
    private func fragments(
        _ listener: Listener, _ interface: HostFacts.Interface
    ) -> Finding? {
        guard listener.mode == .afXDP else { return nil }
        // The longest IP packet in a frame of 4 KiB: docs/af-xdp.md.
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
                + "set mode: tc_ebpf, which forwards them, or max_packet_size: \(longest)")
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

    /// Receivers answer the client directly, and forwarded packets have a foreign source.
    private func sourceCheck(_ listener: Listener) -> Finding? {
        guard listener.preserveSource else { return nil }
        let own = listener.interface.flatMap { host.interfaces[$0] ?? nil }?.sourceCheck ?? 0
        // The larger of the two applies (Documentation/networking/ip-sysctl.rst, rp_filter).
        guard max(own, host.sourceCheckEverywhere) == 1 else { return nil }
        return .advice(
            "source check for \(listener.name)",
            "rp_filter is 1: answers that come back another way are dropped",
            do: "sysctl -w net.ipv4.conf.all.rp_filter=2, on the receivers too")
    }
}

extension Listener {
    /// Whether it receives IPv4 datagrams. IPv4 headers are shorter, so longer datagrams arrive whole.
    fileprivate var servesV4: Bool {
        switch served {
        case .any: true
        case .listed(let more):
            bind.address.isWildcard || ([bind.address] + more).contains { $0.family == .v4 }
        }
    }
}

/// The result of one check.
struct Finding: Codable, Equatable, Sendable {
    enum Level: String, Codable, Sendable {
        case ok
        /// It works, but could work better.
        case advice
        /// A part of the configuration does not work.
        case problem
    }

    let level: Level
    /// What was checked, such as `receive buffer`.
    let check: String
    /// What was found.
    let found: String
    /// What to do; empty if nothing.
    let remedy: String

    static func ok(_ check: String, _ found: String) -> Finding {
        Finding(level: .ok, check: check, found: found, remedy: "")
    }

    static func advice(_ check: String, _ found: String, do remedy: String) -> Finding {
        Finding(level: .advice, check: check, found: found, remedy: remedy)
    }

    static func problem(_ check: String, _ found: String, do remedy: String) -> Finding {
        Finding(level: .problem, check: check, found: found, remedy: remedy)
    }
}

/// What `udp-fanout doctor --json` prints.
struct DoctorReport: Codable, Equatable, Sendable {
    /// Whether there is no problem.
    let ok: Bool
    let findings: [Finding]

    init(_ findings: [Finding]) {
        ok = !findings.contains { $0.level == .problem }
        self.findings = findings
    }
}
