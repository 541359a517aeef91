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

extension ListenerCheck {
    /// The keys of mode `xdp_nat`, in that mode and in others.
    func checkNAT(_ mode: ForwardingMode) {
        guard mode == .xdpNAT else {
            for (_, origin) in draft.nat.written {
                findings.error(
                    at: origin, "has no meaning in mode \(mode.rawValue)",
                    "remove it, or write mode: xdp_nat")
            }
            return
        }
        checkPlace()
        if let addresses = draft.addresses, addresses.value == .any {
            findings.error(
                at: addresses.origin,
                "answers leave as the address that the client spoke to, which has to be known",
                "write a list of addresses")
        }
        checkReceiversOfNAT()
    }

    /// `bind`, or `vip` with `ports`.
    private func checkPlace() {
        let vip = draft.nat.origin(of: .listenerVIP)
        let ports = draft.nat.origin(of: .listenerPorts)
        if draft.hasBind, let other = vip ?? ports {
            findings.error(
                at: other, "stands beside bind",
                "remove bind, or write the address and port there alone")
        } else if vip != nil, ports == nil {
            findings.error(
                at: key(.listenerPorts), "is missing", ConfigKey.listenerPorts.type.remedy)
        } else if ports != nil, vip == nil {
            findings.error(at: key(.listenerVIP), "is missing", ConfigKey.listenerVIP.type.remedy)
        }
    }

    private func checkReceiversOfNAT() {
        let ports = draft.nat.ports?.value ?? []
        if let origin = draft.receiverPortOrigin, ports.count > 1,
            let port = draft.file?.port ?? draft.dns?.port, port != ports[0]
        {
            findings.error(
                at: origin,
                "\(port) is one port, and the listener has \(ports.count), which its receivers share",
                "write \(ports[0]), which stands for all of them, or a listener for each port")
        }
        for address in (draft.downstreams ?? []).compactMap(\.address) {
            if address.value.address.isLoopback {
                findings.error(
                    at: address.origin,
                    "\(address.value) is a loopback address, and what comes in by an interface is "
                        + "not for it",
                    "write an address of a network, or mode: userspace")
            } else if ports.count > 1, address.value.port != ports[0] {
                findings.error(
                    at: address.origin,
                    "\(address.value) names a port, and the listener has \(ports.count), which "
                        + "its receivers share",
                    "write \(address.value.address) without a port, or a listener for each port")
            }
        }
    }
}

// What the protocol of a well-known port asks of a listener. Another protocol may use the port, so these are warnings.

extension ListenerCheck {
    func checkProtocol() {
        checkReplies()
        guard let port = draft.bind?.value.port, let mode = draft.mode?.value, mode != .xdpNAT,
            let found = WellKnownProtocol(port: port)
        else { return }
        checkSpreading(found, port, mode)
        checkSenders(found, port, mode)
    }

    private var hidesSource: Bool {
        !(draft.preserveSource?.value ?? draft.mode?.value.preservesSourceByDefault ?? true)
    }

    /// Receivers whose replies end here. Where they see the client, they may reply to it themselves.
    private func checkReplies() {
        guard draft.mode?.value == .userspace, hidesSource else { return }
        let places = [draft.bind] + (draft.downstreams ?? []).map(\.address)
        for place in places.compactMap(\.self) {
            let port = place.value.port
            guard let found = WellKnownProtocol(port: port), found.expectsReplies else { continue }
            findings.warning(
                at: place.origin,
                "\(port) is a port of \(found.rawValue): receivers reply, and mode userspace forwards one "
                    + "way, so replies are dropped",
                "write mode: xdp_nat unless senders need no replies")
            return
        }
    }

    /// Exporters whose datagrams only make sense together. With one receiver they stay together.
    private func checkSpreading(
        _ found: WellKnownProtocol, _ port: UInt16, _ mode: ForwardingMode
    ) {
        guard draft.balance == .roundRobin || draft.balance == .random,
            !draft.sourceOrigins.isEmpty || (draft.downstreams ?? []).count(where: \.takesPart) > 1
        else { return }
        let what: String
        switch found {
        case .netFlow, .ipfix:
            what = "a template reaches one receiver, and the others cannot read its records"
        case .sFlow:
            what = "each receiver sees gaps in the sequence numbers and a part of the counters"
        default: return
        }
        findings.warning(
            at: draft.balanceOrigin ?? key(.listenerBalance),
            "\(port) is a port of \(found.rawValue): with \(draft.balance.rawValue) \(what)",
            "write balance: source_ip" + (hidesSource ? " and preserve_source: true" : ""))
    }

    /// Receivers that tell senders apart by the source address.
    private func checkSenders(
        _ found: WellKnownProtocol, _ port: UInt16, _ mode: ForwardingMode
    ) {
        guard draft.balance == .sourceIP, draft.preserveSource == nil, hidesSource else { return }
        let what: String
        switch found {
        case .netFlow, .ipfix: what = "a collector tells exporters apart by the source address"
        case .syslog: what = "a server may name senders by the source address"
        case .radius: what = "a server finds a client's secret by the source address"
        default: return
        }
        findings.warning(
            at: key(.listenerPreserveSource),
            "\(port) is a port of \(found.rawValue): \(what), and without preserve_source that is this "
                + "host's",
            "write preserve_source: true, or preserve_source: false if the receivers do without")
    }
}

extension ListenerDraft.DownstreamDraft {
    fileprivate var takesPart: Bool { weight?.value != 0 }
}
