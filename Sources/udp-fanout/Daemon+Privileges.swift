// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Logging

extension Daemon {
    /// Releases the capabilities that no change of such a configuration needs, except those that
    /// `settings.keep_capabilities` names.
    func dropPrivileges() {
        let held = Capabilities.permitted
        let needed = configuration.capabilities(limits: NetworkLimits())
        let kept = held.intersection(needed.union(configuration.keptCapabilities.capabilities))
        guard held != kept else { return }
        released = held.subtracting(kept)
        do throws(SystemError) {
            try kept.keepOnlyThese()
            logger.info(
                "unneeded capabilities are released",
                metadata: [
                    "kept": "\(kept.isEmpty ? "none" : kept.names.joined(separator: ","))"
                ])
        } catch {
            logger.warning(
                "capabilities are not released in every thread", metadata: ["error": "\(error)"])
        }
    }

    /// The remedy for a configuration that needs released capabilities.
    func remedy(for next: Configuration) -> [String] {
        let missing = next.capabilities(limits: NetworkLimits())
            .union(next.keptCapabilities.capabilities).intersection(released)
        guard !missing.isEmpty else { return [] }
        return [
            "\(missing.names.joined(separator: ", ")): released after the start, not needed then; "
                + "restart, or run `udp-fanout --takeover`; settings.keep_capabilities keeps them from the start on"
        ]
    }

    /// The messages for a configuration that could not be applied. "Run as root" is no remedy for a daemon that was
    /// root at its start and has released the capability.
    func problems(of error: any Error, in next: Configuration) -> [String] {
        let remedies = remedy(for: next)
        guard let remedy = remedies.first else { return ["\(error)"] }
        switch error {
        case let error as PlaneError where [EPERM, EACCES].contains(error.code):
            return ["\(error.operation) \(error.subject): \(error.reason): \(remedy)"]
        case let error as HealthError where [EPERM, EACCES].contains(error.code):
            return ["\(error.operation) \(error.subject): \(error.reason): \(remedy)"]
        default: return ["\(error)"] + remedies
        }
    }
}

/// What the kernel allows without privileges.
struct NetworkLimits: Equatable {
    /// Ports from this one on need no privilege.
    var firstFreePort = 1024
    /// `net.core.rmem_max`, bytes.
    var receiveBufferMax = 0
    /// Whether the kernel has TCX hooks (Linux 6.6).
    var hasTCX = true

    init() {
        let release = KernelSetting.text("kernel/osrelease") ?? ""
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        hasTCX = numbers.count < 2 || (numbers[0], numbers[1]) >= (6, 6)
        firstFreePort = KernelSetting.number("net/ipv4/ip_unprivileged_port_start") ?? 1024
        receiveBufferMax = KernelSetting.number("net/core/rmem_max") ?? 0
    }
}

extension Configuration {
    /// The capabilities that this configuration, or another with such listeners, needs.
    func capabilities(limits: NetworkLimits) -> Capabilities {
        var needed = listeners.reduce(into: Capabilities()) {
            $0.formUnion($1.listener.capabilities(limits))
        }
        if metrics.enabled, Int(metrics.bind.port) < limits.firstFreePort {
            needed.insert(.netBindService)
        }
        if health.enabled, health.probes.kind == .icmp { needed.insert(.netRaw) }
        return needed
    }
}

extension Set<KeptCapability> {
    fileprivate var capabilities: Capabilities {
        reduce(into: Capabilities()) { result, kept in
            switch kept {
            case .netRaw: result.insert(.netRaw)
            case .netBindService: result.insert(.netBindService)
            case .netAdmin: result.insert(.netAdmin)
            case .bpf: result.insert(.bpf)
            case .perfmon: result.insert(.perfmon)
            }
        }
    }
}

extension ForwardingMode {
    /// The capabilities of every listener of the mode. Tests compare manifests and units with them.
    var capabilities: Capabilities {
        switch self {
        case .userspace: []
        case .tcEBPF, .xdpNAT: .kernelPrograms
        // CAP_IPC_LOCK: frames are locked memory, which counts against RLIMIT_MEMLOCK without it
        // (net/xdp/xdp_umem.c, xdp_umem_account_pages).
        case .afXDP: .kernelPrograms.union([.netRaw, .ipcLock])
        }
    }
}

extension Listener {
    /// The capabilities to open this listener.
    fileprivate func capabilities(_ limits: NetworkLimits) -> Capabilities {
        var needed = mode.capabilities
        switch mode {
        case .xdpNAT, .afXDP: return needed
        case .tcEBPF:
            // Our clsact filter has a mark. Identifying another tool's filter takes its program, which the kernel
            // opens by number only with CAP_SYS_ADMIN (kernel/bpf/syscall.c, bpf_prog_get_fd_by_id). So the
            // capability is kept if present and never required.
            let isClsact = settings.tcAttach == .clsact || !limits.hasTCX
            return isClsact ? needed.union(.sysAdmin) : needed
        case .userspace:
            if Int(bind.port) < limits.firstFreePort { needed.insert(.netBindService) }
            if preserveSource { needed.insert(.netRaw) }
            // For a buffer beyond the system's limit: SO_RCVBUFFORCE of socket(7).
            if settings.receiveBufferBytes > limits.receiveBufferMax { needed.insert(.netAdmin) }
            // For the better way to steer workers; there is a fallback without it.
            if settings.steer != .kernel, settings.workers != 1 {
                needed.formUnion(.kernelPrograms)
            }
            return needed
        }
    }
}
