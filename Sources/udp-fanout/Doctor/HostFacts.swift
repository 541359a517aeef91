// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutDiscovery
internal import Glibc
internal import LinuxNet

/// The host as a daemon would find it: a value, so that the judgement on it can be shown any host.
struct HostFacts: Equatable {
    struct Interface: Equatable {
        var mtu = 1500
        var queues = InterfaceQueues(receive: 1, areCombined: true)
        /// `rp_filter`: the stricter of the interface's and everybody's.
        var sourceCheck = 0
        var forwardsV4 = true
        var forwardsV6 = true
        /// Whether the driver strips VLAN tags before an XDP program sees the frame.
        var stripsTags = false
        /// The interfaces of VLANs on it.
        var vlans: [String] = []
        /// A veth has no tags but those of its own VLAN interfaces.
        var isVeth = false
    }

    var kernel = (6, 18)
    /// Those that count.
    var capabilities = Capabilities()
    var isInUserNamespace = false
    /// Why a socket cannot be bound where the configuration says.
    var refusals: [Place: SystemError] = [:]
    /// What userspace listeners of the daemon at the control socket are bound to.
    var served: Set<String> = []
    var isDaemonRunning = false
    /// Why no cluster can be asked.
    var clusterFault: String?
    /// Addresses that kernel modes serve and the host has not, which are in a network of this interface.
    var onLink: [IPAddress: String] = [:]
    /// Servers of xdp_nat on this host.
    var locals: Set<IPAddress> = []
    var hasBPFFileSystem = true
    var receiveBufferMax = 0
    var firstFreePort = 1024
    var openFilesMax = 1024
    var cpus = 1
    /// Those that the configuration names; nil for one that is not there.
    var interfaces: [String: Interface?] = [:]
    var sourceCheckEverywhere = 0
    /// No limit of locked memory, or none that this process is held to.
    var mayLockAllMemory = false
    /// Setting it sets the interfaces' own; setting it to what it is does nothing.
    var forwardsV4Everywhere = true
    /// Of IPv6 the kernel's stack asks for this one, lookups of routes by programs for the interface's own.
    var forwardsV6Everywhere = true
    /// The interfaces out of which receivers are reached, by their names.
    var exits: [IPAddress: String] = [:]
    /// Receivers on other hosts that only the kernel's forwarding reaches.
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

    /// A configuration's, with the receivers that have been found.
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
        // The settings are those of the network that the process is in. What is mounted at /sys may be
        // another's: `nsenter --net` leaves it as it is.
        guard ThisProcess.canSee("/proc/sys/net/ipv4/conf/\(name)") else { return nil }
        let folder = "/sys/class/net/\(name)"
        var result = Interface()
        let mtu = KernelSetting.firstBytes(of: "\(folder)/mtu") ?? ""
        result.mtu =
            Int(mtu.filter(\.isNumber)) ?? KernelSetting.number("net/ipv6/conf/\(name)/mtu") ?? 1500
        // A driver that does not say has one.
        result.queues = InterfaceQueues(of: name) ?? result.queues
        result.stripsTags = InterfaceTags.areStripped(by: name)
        let settings = "net/ipv4/conf/\(name)"
        result.sourceCheck = KernelSetting.number("\(settings)/rp_filter") ?? 0
        result.forwardsV4 = KernelSetting.number("\(settings)/forwarding") != 0
        result.forwardsV6 = KernelSetting.number("net/ipv6/conf/\(name)/forwarding") != 0
        return result
    }

    /// The addresses of `/proc/net/arp` that are being asked for in vain: their flags are 0 (arp(7)).
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

    /// Binds what the configuration binds, and closes it at once.
    mutating func tryAddresses(of configuration: Configuration) {
        for listener in configuration.listeners where listener.mode == .userspace {
            // A socket that joins others would take datagrams from them.
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

    /// What the daemon at the configuration's control socket serves.
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

    /// Those that count. The kernel asks for the others in the namespace that the host began with; for CAP_NET_RAW
    /// and its like in the one to which the network belongs.
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
