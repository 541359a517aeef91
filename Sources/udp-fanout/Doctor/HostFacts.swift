// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutDiscovery
internal import Glibc
internal import LinuxNet

/// The host as a daemon would find it: a value, so that tests can describe any host.
struct HostFacts: Equatable {
    struct Interface: Equatable {
        var mtu = 1500
        var queues = InterfaceQueues(receive: 1, areCombined: true)
        /// `rp_filter` of the interface.
        var sourceCheck = 0
        var forwardsV4 = true
        var forwardsV6 = true
        /// Whether the driver strips VLAN tags before an XDP program sees the frame.
        var stripsTags = false
        /// The VLAN interfaces on it.
        var vlans: [String] = []
        /// A veth carries only tags of its own VLAN interfaces.
        var isVeth = false
    }

    var kernel = (6, 18)
    /// The effective capabilities for this host.
    var capabilities = Capabilities()
    var isInUserNamespace = false
    /// Why a socket cannot be bound where the configuration says.
    var refusals: [Place: SystemError] = [:]
    /// The addresses of userspace listeners of the daemon at the control socket.
    var served: Set<String> = []
    var isDaemonRunning = false
    /// Why the cluster cannot be reached.
    var clusterFault: String?
    /// Addresses that kernel modes serve and the host lacks, with the interface whose network has them.
    var onLink: [IPAddress: String] = [:]
    /// Servers of xdp_nat on this host.
    var locals: Set<IPAddress> = []
    var hasBPFFileSystem = true
    var receiveBufferMax = 0
    var firstFreePort = 1024
    var openFilesMax = 1024
    var cpus = 1
    /// The interfaces that the configuration names; nil for a missing one.
    var interfaces: [String: Interface?] = [:]
    var sourceCheckEverywhere = 0
    /// Whether locked memory is unlimited for this process.
    var mayLockAllMemory = false
    /// Changing this setting also sets those of all interfaces; writing the same value does nothing.
    var forwardsV4Everywhere = true
    /// For IPv6 the stack reads this setting, and route lookups of programs read the interface's.
    var forwardsV6Everywhere = true
    /// The names of the interfaces through which receivers are reached.
    var exits: [IPAddress: String] = [:]
    /// Receivers that only the kernel's forwarding reaches.
    var forwarded: Set<IPAddress> = []
    /// Receivers that the kernel has no route to.
    var routeless: Set<IPAddress> = []
    /// IPv4 addresses that do not answer ARP.
    var silentNeighbours: Set<String> = []
    /// Receivers listed in files.
    var found = DiscoveryView()
    /// Files of receivers that cannot be used.
    var unusableFiles: [DiscoverySubject: ReceiverFile.Unusable] = [:]

    static func == (left: HostFacts, right: HostFacts) -> Bool {
        "\(left)" == "\(right)"
    }

    init() {}

    /// This host, as far as a configuration is concerned.
    static func current(for configuration: Configuration) -> HostFacts {
        var host = HostFacts()
        let release = KernelSetting.text("kernel/osrelease") ?? ""
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        if numbers.count == 2 { host.kernel = (numbers[0], numbers[1]) }
        host.isInUserNamespace = isInUserNamespace(
            KernelSetting.firstBytes(of: "/proc/self/uid_map"))
        host.capabilities = effective(
            .permitted, isInUserNamespace: host.isInUserNamespace)
        host.hasBPFFileSystem = FileSystem.isBPF(at: "/sys/fs/bpf")
        host.receiveBufferMax = KernelSetting.number("net/core/rmem_max") ?? 0
        host.firstFreePort = KernelSetting.number("net/ipv4/ip_unprivileged_port_start") ?? 1024
        host.openFilesMax = Int(clamping: ThisProcess.raiseOpenFiles())
        host.cpus = CPUAffinity.allowed.count
        host.sourceCheckEverywhere = KernelSetting.number("net/ipv4/conf/all/rp_filter") ?? 0
        host.forwardsV6Everywhere = KernelSetting.number("net/ipv6/conf/all/forwarding") != 0
        host.forwardsV4Everywhere = KernelSetting.number("net/ipv4/conf/all/forwarding") != 0
        host.mayLockAllMemory = ThisProcess.mayLockAllMemory
        host.tryAddresses(of: configuration)
        host.askDaemon(of: configuration)
        host.clusterFault = Sources.clusterFault { Environment[$0] }
        host.readFiles(of: configuration)
        let listeners = host.listeners(of: configuration)
        host.lookUp(listeners)
        for name in Set(listeners.compactMap(\.interface)).union(host.exits.values) {
            host.interfaces[name] = .some(interface(name))
        }
        host.lookUpLinks()
        host.silentNeighbours = silent(KernelSetting.firstBytes(of: "/proc/net/arp") ?? "")
        return host
    }

    /// The configuration's listeners, with discovered receivers.
    func listeners(of configuration: Configuration) -> [Listener] {
        configuration.desiredState.applying(found).listeners
    }

    private mutating func readFiles(of configuration: Configuration) {
        for subject in configuration.desiredState.subjects {
            guard case .file(let path, let port) = subject else { continue }
            do throws(ReceiverFile.Unusable) {
                found.sets[subject] = try ReceiverFile.receivers(at: path, port: port)
            } catch {
                unusableFiles[subject] = error
            }
        }
    }

    private static func interface(_ name: String) -> Interface? {
        // These settings belong to the process's network namespace. /sys may be mounted from another one:
        // `nsenter --net` does not change it.
        guard ThisProcess.canSee("/proc/sys/net/ipv4/conf/\(name)") else { return nil }
        let folder = "/sys/class/net/\(name)"
        var result = Interface()
        let mtu = KernelSetting.firstBytes(of: "\(folder)/mtu") ?? ""
        result.mtu =
            Int(mtu.filter(\.isNumber)) ?? KernelSetting.number("net/ipv6/conf/\(name)/mtu") ?? 1500
        // A driver that does not report it has one queue.
        result.queues = InterfaceQueues(of: name) ?? result.queues
        result.stripsTags = InterfaceTags.areStripped(by: name)
        let settings = "net/ipv4/conf/\(name)"
        result.sourceCheck = KernelSetting.number("\(settings)/rp_filter") ?? 0
        result.forwardsV4 = KernelSetting.number("\(settings)/forwarding") != 0
        result.forwardsV6 = KernelSetting.number("net/ipv6/conf/\(name)/forwarding") != 0
        return result
    }

    /// The addresses in `/proc/net/arp` that do not answer: their flags are 0 (arp(7)).
    static func silent(_ table: String) -> Set<String> {
        Set(
            table.split(separator: "\n").dropFirst().compactMap { line in
                let words = line.split(separator: " ")
                return words.count > 2 && words[2] == "0x0" ? String(words[0]) : nil
            })
    }
}

extension HostFacts {
    /// An address that the configuration binds a socket to.
    struct Place: Hashable {
        enum Kind: Hashable { case listener, metrics }

        let kind: Kind
        let endpoint: Endpoint
    }

    /// Binds the configuration's addresses, and closes the sockets at once.
    mutating func tryAddresses(of configuration: Configuration) {
        for listener in configuration.listeners where listener.mode == .userspace {
            // A socket that shares the port would take datagrams from the others.
            let port = listener.settings.sharePort ? 0 : listener.bind.port
            let trial = Endpoint(listener.bind.address, port: port)
            do throws(SystemError) {
                _ = try Socket.listening(on: trial, sharing: .exclusive)
            } catch {
                refusals[Place(kind: .listener, endpoint: listener.bind)] = error
            }
        }
        guard configuration.metrics.enabled else { return }
        do throws(SystemError) {
            _ = try Socket.boundStream(on: configuration.metrics.bind)
        } catch {
            refusals[Place(kind: .metrics, endpoint: configuration.metrics.bind)] = error
        }
    }

    /// Asks the daemon at the configuration's control socket what it serves.
    mutating func askDaemon(of configuration: Configuration) {
        guard refusals.values.contains(where: \.isTaken), configuration.control.enabled,
            let path = configuration.control.socket ?? ControlPlace.own,
            let client = try? ControlClient.ifPresent(at: path)
        else { return }
        defer { client.end() }
        guard let status = try? client.ask(ControlRequest(.status)).status else { return }
        served = Set(status.listeners.filter { $0.mode == "userspace" }.map(\.bind))
        isDaemonRunning = true
    }

    /// Whether the capabilities of this process are those of a user namespace of its own (user_namespaces(7)).
    static func isInUserNamespace(_ map: String?) -> Bool {
        guard let map else { return false }
        let numbers = map.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
        return numbers != [0, 0, UInt64(UInt32.max)]
    }

    /// The effective capabilities. The kernel checks CAP_NET_RAW and similar ones in the user namespace that owns the
    /// network, and all others in the initial user namespace.
    static func effective(_ held: Capabilities, isInUserNamespace: Bool) -> Capabilities {
        guard isInUserNamespace else { return held }
        var result = held.subtracting([.bpf, .perfmon, .sysAdmin, .ipcLock, .sysResource])
        if (try? Socket.rawPing(.v4)) == nil { result.remove(.netRaw) }
        return result
    }
}

extension SystemError {
    var isTaken: Bool { code == EADDRINUSE }
}
