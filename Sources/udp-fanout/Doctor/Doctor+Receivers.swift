// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import FanoutDiscovery

extension Doctor {
    /// Checks the receivers of a listener.
    func receivers(of listener: Listener) -> [Finding] {
        [file(listener)].compactMap { $0 }
            + listener.downstreams.compactMap { reach($0, of: listener) }
    }

    private func reach(_ receiver: Downstream, of listener: Listener) -> Finding? {
        let check = "receiver \(listener.name)/\(receiver.name)"
        let address = receiver.endpoint.address
        if host.routeless.contains(address), needsRoute(receiver, of: listener) {
            return .problem(
                check, "there is no route to \(address)",
                do: "add a route (ip route), or remove it")
        }
        if listener.mode == .xdpNAT, host.locals.contains(address) {
            return .advice(
                check,
                "\(address) is this host, where no program sees the replies: clients do not get them",
                do: "use servers on other hosts, or in their own network namespaces")
        }
        guard host.silentNeighbours.contains("\(address)") else { return nil }
        return .problem(
            check, "\(address) does not answer ARP",
            do: "check that it is up and on this network: ip neighbour show \(address)")
    }

    /// With one arm a packet returns to the network it came from. A receiver of weight 0 gets packets only in mode
    /// `xdp_nat`, from its associated clients.
    private func needsRoute(_ receiver: Downstream, of listener: Listener) -> Bool {
        listener.mode == .xdpNAT ? !listener.nat.isOneArm : receiver.weight > 0
    }

    /// Checks the file of receivers, which the daemon uses completely or not at all.
    private func file(_ listener: Listener) -> Finding? {
        guard let source = listener.discovery?.receivers, case .file(let path, _) = source else {
            return nil
        }
        let check = "receivers of \(listener.name)"
        switch host.unusableFiles[source] {
        case nil:
            return .ok(check, "\(listener.downstreams.count), of \(path)")
        case .unreadable(let error):
            return .problem(
                check, "\(error)",
                do: "write a file that the daemon may read, or another file.path; a relative one "
                    + "counts from where the daemon works")
        case .empty:
            return .problem(
                check, "\(path) is empty",
                do: "write one address:port a line, or only a comment for no receivers")
        case .malformed(let line, let what):
            return .problem(
                check, "\(path):\(line): \(what)",
                do: "write one address:port a line, an address alone where file.port is set: "
                    + "the daemon uses all of it or nothing")
        }
    }
}
