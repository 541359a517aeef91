// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What must hold within one listener.
struct ListenerCheck {
    let draft: ListenerDraft
    let findings: Findings

    init(_ draft: ListenerDraft, _ findings: Findings) {
        self.draft = draft
        self.findings = findings
    }

    func run() {
        checkBind()
        if let mode = draft.mode?.value { checkMode(mode) }
        checkReceivers()
        for item in draft.downstreams ?? [] { check(item) }
        checkUnique()
        checkWeights()
        checkSource()
        checkProtocol()
    }

    func key(_ key: ConfigKey) -> Origin { draft.origin.under("\(draft.origin.key).\(key.name)") }

    private func checkBind() {
        guard let bind = draft.bind, bind.value.address.isMulticastOrBroadcast else { return }
        if let mode = draft.mode?.value, mode != .userspace {
            findings.error(
                at: bind.origin,
                "\(bind.value.address) is a group address, and mode \(mode.rawValue) leaves those to the"
                    + " kernel's stack", "write an address of one host, or mode: userspace")
            return
        }
        findings.warning(
            at: bind.origin, "\(bind.value.address) is a group address, and no group is joined",
            "write an address of this host, or join the group by other means")
    }

    private func checkMode(_ mode: ForwardingMode) {
        if mode.needsInterface, !draft.namesInterface {
            findings.error(
                at: key(.listenerInterface), "is missing, and mode \(mode.rawValue) hooks into one",
                ConfigKey.listenerInterface.type.remedy)
        }
        if !mode.needsInterface, let interface = draft.interface {
            findings.warning(
                at: interface.origin, "is not used in mode \(mode.rawValue)", "remove it")
        }
        checkSourceIsKept(in: mode)
        if mode == .tcEBPF { checkLoopback() }
        if !mode.needsInterface, draft.kubernetes?.vip == true,
            let origin = draft.sourceOrigins.first
        {
            findings.error(
                at: origin.under("\(key(.listenerKubernetes).key).vip"),
                "has no meaning in mode \(mode.rawValue), which serves bind alone",
                "remove it, or write mode: tc_ebpf, af_xdp or xdp_nat")
        }
        checkNAT(mode)
        guard let addresses = draft.addresses else { return }
        if !mode.needsInterface {
            findings.error(
                at: addresses.origin,
                "has no meaning in mode \(mode.rawValue), which serves bind alone",
                "remove it, or write mode: tc_ebpf, af_xdp or xdp_nat")
        } else if addresses.value == .any, mode != .xdpNAT {
            findings.warning(
                at: addresses.origin,
                "serves every destination on the port, traffic in transit included",
                "write a list of addresses unless this is meant")
        }
    }

    private func checkReceivers() {
        let place = draft.downstreamOrigin ?? key(.listenerDownstream)
        if let source = draft.sourceOrigins.first {
            if draft.downstreamOrigin != nil {
                findings.error(
                    at: source, "stands beside downstream",
                    "remove one of the two: the receivers come from one source")
            }
            for other in draft.sourceOrigins.dropFirst() {
                findings.error(
                    at: other, "stands beside \(source.key.split(separator: ".").last ?? "")",
                    "remove one of the two: the receivers come from one source")
            }
        } else if draft.downstreamOrigin == nil {
            findings.error(
                at: place, "is missing",
                "write at least one receiver, or kubernetes, file or dns to find them")
        } else if draft.downstreams?.isEmpty == true, draft.downstreamCount == 0 {
            findings.error(
                at: place, "holds no receiver",
                "write at least one, or kubernetes, file or dns to find them")
        }
        let limit = draft.settings.maxDownstream
        if draft.downstreamCount > limit {
            findings.error(
                at: place,
                "holds \(draft.downstreamCount) receivers, settings.max_downstream is \(limit)",
                draft.downstreamCount <= 1024
                    ? "write max_downstream: \(draft.downstreamCount), or fewer receivers"
                    : "write at most 1024 receivers and max_downstream: 1024")
        }
    }

    private func check(_ item: ListenerDraft.DownstreamDraft) {
        if let mac = item.mac {
            findings.warning(
                at: mac.origin, "is not used: the next hop comes from the routing table",
                "remove it")
        }
        guard let address = item.address else { return }
        let fault: String? =
            if address.value.address.isWildcard {
                "is every address of a host, not one"
            } else if address.value.address.isMulticastOrBroadcast {
                "is a group of receivers, not one"
            } else {
                nil
            }
        if let fault {
            findings.error(
                at: address.origin, "\(address.value.address) \(fault)",
                "write the address of one receiver")
        }
    }

    private func checkWeights() {
        guard let items = draft.downstreams, !items.isEmpty, let place = draft.downstreamOrigin,
            items.allSatisfy({ $0.weight?.value == 0 })
        else { return }
        findings.warning(
            at: place, "every weight is 0, so nobody receives anything",
            "write a weight of at least 1 for one receiver")
    }
}
