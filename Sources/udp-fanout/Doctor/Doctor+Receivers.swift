// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import FanoutDiscovery

extension Doctor {
    /// What holds for those who receive of a listener.
    func receivers(of listener: Listener) -> [Finding] {
        [file(listener)].compactMap { $0 }
            + listener.downstreams.compactMap { receiver in
                let address = "\(receiver.endpoint.address)"
                guard host.silentNeighbours.contains(address) else { return nil }
                return .problem(
                    "receiver \(listener.name)/\(receiver.name)", "\(address) does not answer ARP",
                    do: "look whether it is up and on this network: ip neighbour show \(address)")
            }
    }

    /// The file that receivers stand in, of which the daemon uses all or nothing.
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
                do: "write one address:port a line, or a comment in it to have nobody")
        case .malformed(let line, let what):
            return .problem(
                check, "\(path):\(line): \(what)",
                do: "write one address:port a line, an address alone where file.port is set: "
                    + "the daemon uses all of it or nothing")
        }
    }
}
