// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import Glibc
internal import LinuxNet

// The addresses where datagrams and scrapes arrive.

extension Doctor {
    /// Checks the sockets of userspace mode and the metrics server, which the start requires.
    var addresses: [Finding] {
        let sockets = configuration.listeners.filter { $0.mode == .userspace }.map {
            (
                check: "address of \($0.name)",
                place: HostFacts.Place(kind: .listener, endpoint: $0.bind)
            )
        }
        let metrics = HostFacts.Place(kind: .metrics, endpoint: configuration.metrics.bind)
        let all = sockets + (configuration.metrics.enabled ? [("address of metrics", metrics)] : [])
        return all.map { finding($0.check, $0.place) }
    }

    private func finding(_ check: String, _ place: HostFacts.Place) -> Finding {
        let key = place.kind == .listener ? "bind" : "metrics.bind"
        guard let error = host.refusals[place] else { return .ok(check, "\(place.endpoint)") }
        switch error.code {
        case EADDRNOTAVAIL:
            return .problem(
                check, "no interface of this host has \(place.endpoint.address)",
                do:
                    "set \(key) to an address that `ip address` lists, or to 0.0.0.0 or [::] for all"
            )
        case EADDRINUSE where isOwn(place):
            return .ok(check, "\(place.endpoint), served by the running daemon")
        case EADDRINUSE:
            let list = place.kind == .listener ? "ss -lunp" : "ss -ltnp"
            return .problem(
                check, "another process serves \(place.endpoint)",
                do:
                    "end it (`\(list)` names it), or write another \(key); if it is systemd, start the "
                    + "daemon by its unit, which passes the socket on")
        case EACCES:
            return .problem(
                check, "ports below \(host.firstFreePort) need CAP_NET_BIND_SERVICE",
                do: "run it as root, or grant it: AmbientCapabilities= of the unit, or setcap(8)")
        default:
            return .problem(check, "\(place.endpoint): \(error)", do: "write another \(key)")
        }
    }

    private func isOwn(_ place: HostFacts.Place) -> Bool {
        switch place.kind {
        case .listener: host.served.contains("\(place.endpoint)")
        case .metrics: host.isDaemonRunning
        }
    }

    /// Addresses that kernel modes serve and this host lacks. Senders on the link ask for them by ARP or IPv6 neighbour
    /// discovery. The programs leave both to the stack, which answers only for its own addresses.
    func unanswered(of listener: Listener) -> [Finding] {
        guard listener.mode.needsInterface, let name = listener.interface else { return [] }
        return listener.destinations.filter { host.onLink[$0] == name }.map { address in
            let protocolName = address.family == .v4 ? "ARP" : "neighbour discovery"
            return .advice(
                "address of \(listener.name)",
                "\(address) is in a network of \(name), and no interface has it: this host does not answer "
                    + "\(protocolName) for it",
                do:
                    "ip address add \(address)/\(address.family == .v4 ? 32 : 128) dev \(name), unless "
                    + "another program such as MetalLB or keepalived answers")
        }
    }

    /// Checks the credentials for the API server. A daemon starts without them, and then has no receivers.
    var cluster: Finding? {
        let names = listeners.filter { $0.discovery?.isOfCluster == true }.map(\.name)
        guard !names.isEmpty else { return nil }
        guard let fault = host.clusterFault else {
            return .ok("Kubernetes", "credentials are there")
        }
        return .advice(
            "Kubernetes",
            "\(fault): \(names.joined(separator: ", ")) will have no receivers",
            do:
                "set KUBECONFIG to a file that the daemon may read; in a pod, mount its service account "
                + "(automountServiceAccountToken: true)")
    }
}

extension Listener {
    /// The single addresses that it serves.
    var destinations: [IPAddress] {
        guard case .listed(let more) = served else {
            return bind.address.isWildcard ? [] : [bind.address]
        }
        return (bind.address.isWildcard ? [] : [bind.address]) + more
    }
}

extension ListenerDiscovery {
    fileprivate var isOfCluster: Bool {
        subjects.contains {
            switch $0 {
            case .endpointSlices, .loadBalancer: true
            case .file, .dns, .fixed: false
            }
        }
    }
}
