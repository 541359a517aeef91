// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The rules among the listeners of mode `xdp_nat`, which share one program, and between them and those of
/// `af_xdp`. O(receivers × ports).
struct NATCheck {
    /// The maximum number of ports per program (LB_LISTENERS_MAX).
    private static let portsMax = 64

    private let listeners: [DecodedListener]
    private let findings: Findings

    static func run(_ listeners: [DecodedListener], _ findings: Findings) {
        let check = NATCheck(
            listeners: listeners.filter { $0.mode == .xdpNAT }, findings: findings)
        check.checkAgreement()
        check.checkReceivers()
        check.checkCount()
        check.checkInterfaces(listeners.filter { $0.mode == .afXDP })
    }

    /// Constants of the program.
    private func checkAgreement() {
        checkAgreement(on: \.nat.isOneArm)
        checkAgreement(on: \.nat.keepsUnansweredApart)
        checkAgreement(on: \.nat.maxAssociations)
    }

    private func checkAgreement<Value: Equatable>(on path: KeyPath<ListenerConfiguration, Value>) {
        guard let first = listeners.first else { return }
        let expected = first.value[keyPath: path]
        for listener in listeners.dropFirst() where listener.value[keyPath: path] != expected {
            findings.error(
                at: listener.keyOrigin(path) ?? listener.missing(path),
                "is \(listener.value[keyPath: path]) here and \(expected) for \(first.title)"
                    + Self.line(of: first.origins.section),
                "write one \(ListenerConfiguration.section.key(path).name) for all listeners of mode "
                    + "xdp_nat")
        }
    }

    /// A receiver's replies can belong to one listener only.
    private func checkReceivers() {
        var owners: [Endpoint: (title: String, origin: Origin)] = [:]
        for listener in listeners {
            for address in listener.receiverAddresses {
                for endpoint in listener.endpoints(at: address.value) {
                    if let owner = owners[endpoint], owner.title != listener.title {
                        findings.error(
                            at: address.origin,
                            "\(endpoint) is a receiver of \(owner.title)\(Self.line(of: owner.origin))"
                                + " too, and its answers could not be told apart",
                            "have it listen on a port for each listener")
                        break
                    }
                    owners[endpoint] = (listener.title, address.origin)
                }
            }
        }
    }

    private func checkCount() {
        var count = 0
        for listener in listeners {
            count += max(1, listener.ports.count)
            guard count > Self.portsMax else { continue }
            findings.error(
                at: listener.keyOrigin(\.ports) ?? listener.origins.section,
                "brings the ports of mode xdp_nat to \(count)",
                "write at most \(Self.portsMax), or another mode for some")
            return
        }
    }

    /// An interface has room for one XDP program.
    private func checkInterfaces(_ others: [DecodedListener]) {
        for interface in listeners.compactMap({ $0[\.interface] }) {
            guard
                let other = others.first(where: { $0[\.interface]?.value == interface.value })
            else { continue }
            findings.error(
                at: interface.origin,
                "\(interface.value.quoted) is the interface of \(other.title) of mode af_xdp"
                    + Self.line(of: other.origin(\.interface))
                    + ", and an interface has room for one XDP program",
                "write another interface, or one mode for both")
        }
    }

    private static func line(of origin: Origin?) -> String {
        origin?.line.map { " (line \($0))" } ?? ""
    }
}

extension DecodedListener {
    /// The endpoints of a receiver, one for each port of the listener.
    fileprivate func endpoints(at address: Endpoint) -> [Endpoint] {
        guard ports.count > 1, ports[0] == address.port else { return [address] }
        return ports.map { Endpoint(address.address, port: $0) }
    }
}
