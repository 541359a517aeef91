// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What must hold among the listeners of mode `xdp_nat`, which share one program, and between them and
/// those of `af_xdp`. O(receivers × ports).
struct NATCheck {
    /// Ports that one program serves (LB_LISTENERS_MAX).
    private static let portsMax = 64

    private let drafts: [ListenerDraft]
    private let findings: Findings

    static func run(_ drafts: [ListenerDraft], _ findings: Findings) {
        let check = NATCheck(
            drafts: drafts.filter { $0.mode?.value == .xdpNAT }, findings: findings)
        check.checkAgreement()
        check.checkServers()
        check.checkCount()
        check.checkSockets(drafts.filter { $0.mode?.value == .afXDP })
    }

    /// Constants of the program.
    private func checkAgreement() {
        guard let first = drafts.first else { return }
        let (theirs, line) = (first.nat.settings, first.origin.line)
        for draft in drafts.dropFirst() {
            let own = draft.nat.settings
            let differences: [(ConfigKey, Bool, String, String)] = [
                (
                    .listenerOneArm, own.isOneArm != theirs.isOneArm, "\(own.isOneArm)",
                    "\(theirs.isOneArm)"
                ),
                (
                    .listenerUnanswered, own.keepsUnansweredApart != theirs.keepsUnansweredApart,
                    "\(own.keepsUnansweredApart)", "\(theirs.keepsUnansweredApart)"
                ),
                (
                    .listenerMaxAssociations, own.maxAssociations != theirs.maxAssociations,
                    "\(own.maxAssociations)", "\(theirs.maxAssociations)"
                ),
            ]
            for (key, differs, mine, other) in differences where differs {
                let place =
                    draft.nat.origin(of: key)
                    ?? draft.origin.under("\(draft.origin.key).\(key.name)")
                findings.error(
                    at: place,
                    "is \(mine) here and \(other) for \(first.title)"
                        + (line.map { " (line \($0))" } ?? ""),
                    "write one \(key.name) for all listeners of mode xdp_nat")
            }
        }
    }

    /// The answers of a server leave as one listener's.
    private func checkServers() {
        var owners: [Endpoint: (title: String, line: Int?)] = [:]
        for draft in drafts {
            for receiver in draft.downstreams ?? [] {
                guard let address = receiver.address else { continue }
                for endpoint in draft.servers(at: address.value) {
                    if let owner = owners[endpoint], owner.title != draft.title {
                        findings.error(
                            at: address.origin,
                            "\(endpoint) is a receiver of \(owner.title)"
                                + (owner.line.map { " (line \($0))" } ?? "")
                                + " too, and its answers could not be told apart",
                            "have it listen on a port for each listener")
                        break
                    }
                    owners[endpoint] = (draft.title, address.origin.line)
                }
            }
        }
    }

    private func checkCount() {
        var count = 0
        for draft in drafts {
            count += max(1, draft.nat.ports?.value.count ?? 1)
            guard count > Self.portsMax else { continue }
            findings.error(
                at: draft.nat.origin(of: .listenerPorts) ?? draft.origin,
                "brings the ports of mode xdp_nat to \(count)",
                "write at most \(Self.portsMax), or another mode for some")
            return
        }
    }

    /// An interface has room for one XDP program.
    private func checkSockets(_ others: [ListenerDraft]) {
        for draft in drafts {
            guard let interface = draft.interface,
                let other = others.first(where: { $0.interface?.value == interface.value })
            else { continue }
            findings.error(
                at: interface.origin,
                "\(interface.value.quoted) is the interface of \(other.title) of mode af_xdp"
                    + (other.interface?.origin.line.map { " (line \($0))" } ?? "")
                    + ", and an interface has room for one XDP program",
                "write another interface, or one mode for both")
        }
    }
}

extension ListenerDraft {
    /// Where a receiver is met, for each port of the listener.
    fileprivate func servers(at address: Endpoint) -> [Endpoint] {
        guard let ports = nat.ports?.value, ports.count > 1, ports[0] == address.port else {
            return [address]
        }
        return ports.map { Endpoint(address.address, port: $0) }
    }
}
