// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension ListenerCheck {
    /// Names are metric labels; addresses identify receivers in hash-keyed tables.
    func checkUnique() {
        findings.requireUnique(receivers.compactMap { $0[\.name] }, "write another name") {
            "\($0.quoted) is the name of the receiver on line \($1)"
        }
        findings.requireUnique(
            receiverAddresses, "remove it; write weight to give a receiver more"
        ) { "\($0) is the receiver on line \($1)" }
    }

    /// Kernel programs rewrite only the destination.
    func checkSourceIsKept(in mode: ForwardingMode) {
        guard mode != .userspace, let preserve = listener[\.preserveSource], !preserve.value else {
            return
        }
        findings.error(
            at: preserve.origin,
            "mode \(mode.rawValue) rewrites the destination alone, so receivers see the client's "
                + "source",
            "remove it, or write mode: userspace")
    }

    /// The limits of the kernel's TC hook.
    func checkLoopback() {
        guard let interface = listener[\.interface]?.value, interface != "lo" else { return }
        for address in receiverAddresses where address.value.address.isLoopback {
            findings.error(
                at: address.origin,
                "\(address.value) is a loopback address, and the kernel drops what comes in by "
                    + "\(interface.quoted) for it (a martian destination)",
                "write an address of an interface, or mode: userspace")
        }
    }

    /// A datagram keeps its source only within one address family.
    func checkSource() {
        guard let mode = listener.mode, let bind = bind?.value, listener.preservesSource
        else { return }
        let written = listener.origin(\.preserveSource)
        let others = receiverAddresses.filter { $0.value.address.family != bind.address.family }
        guard !others.isEmpty else { return }
        if bind.address.isWildcard, bind.address.family == .v6 {
            findings.warning(
                at: written ?? listener.missing(\.preserveSource),
                "only IPv4 clients keep their source towards IPv4 receivers",
                "write a listener of its own for IPv6, with IPv6 receivers")
            return
        }
        // The kernel modes always keep the source.
        let hiding =
            if mode == .userspace {
                "preserve_source: false"
            } else if written == nil {
                "mode: userspace"
            } else {
                "mode: userspace with preserve_source: false"
            }
        for other in others {
            findings.error(
                at: other.origin,
                "\(other.value) is \(other.value.address.family.rawValue) and the listener "
                    + "\(bind.address.family.rawValue), so a datagram cannot keep its source",
                "write an \(bind.address.family.rawValue) receiver, or \(hiding)")
        }
    }
}
