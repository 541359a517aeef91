// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The rules within one listener.
struct ListenerCheck {
    let listener: DecodedListener
    let bind: Located<Endpoint>?
    let receivers: [DecodedReceiver]
    let receiverAddresses: [Located<Endpoint>]
    let findings: Findings

    init(_ listener: DecodedListener, _ findings: Findings) {
        self.listener = listener
        bind = listener.bind
        receivers = listener.receivers
        receiverAddresses = listener.receiverAddresses
        self.findings = findings
    }

    func run() {
        checkBind()
        checkPayloadKey()
        if let mode = listener.mode { checkMode(mode) }
        checkReceivers()
        for receiver in receivers { check(receiver) }
        checkUnique()
        checkWeights()
        checkBackups()
        checkSource()
        checkProtocol()
    }

    /// Reports that a key is missing.
    private func requireKey(
        _ path: PartialKeyPath<ListenerConfiguration>, _ what: String = "is missing"
    ) {
        findings.error(
            at: listener.missing(path), what, ListenerConfiguration.section.key(path).rule.remedy)
    }

    private func has(_ path: PartialKeyPath<ListenerConfiguration>) -> Bool {
        listener.keyOrigin(path) != nil
    }

    private func checkBind() {
        if !has(\.singleBind), !has(\.vip), !has(\.ports) { requireKey(\.singleBind) }
        guard let bind, bind.value.address.isMulticastOrBroadcast else { return }
        if let mode = listener.mode, mode != .userspace {
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

    /// `payload_key`, with `balance: payload` and only then.
    private func checkPayloadKey() {
        guard !listener.isUnreadable(\.balance) else { return }
        let (balance, place) = (listener.value.balance, listener.keyOrigin(\.payloadKey))
        guard let place else {
            if balance == .payload {
                findings.error(
                    at: listener.missing(\.payloadKey),
                    "is missing, and balance payload hashes its bytes",
                    "write offset and length, or a preset, below payload_key")
            }
            return
        }
        guard balance == .payload else {
            findings.error(
                at: place, "has no meaning with balance \(balance.rawValue)",
                "remove it, or write balance: payload")
            return
        }
        // An invalid preset is read as none.
        guard let section = listener.section(\.payloadKey), section.origins.isMapping,
            section.keyOrigin(\.preset) == nil || section.value.preset != nil,
            !section.isUnreadable(\.offset), !section.isUnreadable(\.length),
            !section.isUnreadable(\.skip),
            let fault = section.value.fault
        else { return }
        findings.error(at: place, fault, "write offset and length within these limits, or a preset")
    }

    private func checkMode(_ mode: ForwardingMode) {
        if mode.needsInterface, !has(\.interface) {
            requireKey(\.interface, "is missing, and mode \(mode.rawValue) hooks into one")
        }
        if !mode.needsInterface, let interface = listener[\.interface] {
            findings.warning(
                at: interface.origin, "is not used in mode \(mode.rawValue)", "remove it")
        }
        checkSourceIsKept(in: mode)
        if mode == .tcEBPF { checkLoopback() }
        if !mode.needsInterface, listener.value.kubernetes?.vip == true,
            let origin = listener.lookupOrigins.first
        {
            findings.error(
                at: origin.appending("vip"),
                "has no meaning in mode \(mode.rawValue), which serves bind alone",
                "remove it, or write mode: tc_ebpf, af_xdp or xdp_nat")
        }
        checkNAT(mode)
        guard let addresses = listener[\.addresses] else { return }
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
        let lookups = listener.lookupOrigins
        let place = listener.keyOrigin(\.downstreams) ?? listener.missing(\.downstreams)
        if let lookup = lookups.first {
            if has(\.downstreams) {
                findings.error(
                    at: lookup, "stands beside downstream",
                    "remove one of the two: the receivers come from one source")
            }
            for other in lookups.dropFirst() {
                findings.error(
                    at: other, "stands beside \(lookup.key.split(separator: ".").last ?? "")",
                    "remove one of the two: the receivers come from one source")
            }
        } else if !has(\.downstreams) {
            findings.error(
                at: place, "is missing",
                "write at least one receiver, or kubernetes, file or dns to find them")
        } else if listener.items(\.downstreams)?.isEmpty == true {
            findings.error(
                at: place, "holds no receiver",
                "write at least one, or kubernetes, file or dns to find them")
        }
        let (count, limit) = (receivers.count, listener.value.settings.maxDownstream)
        if count > limit {
            findings.error(
                at: place, "holds \(count) receivers, settings.max_downstream is \(limit)",
                count <= 1024
                    ? "write max_downstream: \(count), or fewer receivers"
                    : "write at most 1024 receivers and max_downstream: 1024")
        }
    }

    private func check(_ receiver: DecodedReceiver) {
        if let mac = receiver[\.mac] {
            findings.warning(
                at: mac.origin, "is not used: the next hop comes from the routing table",
                "remove it")
        }
        guard let address = receiver[\.address] else { return }
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

    private func checkBackups() {
        guard let place = listener.keyOrigin(\.downstreams), !receivers.isEmpty,
            receivers.allSatisfy({ $0[\.backup]?.value == true })
        else { return }
        findings.error(
            at: place, "every receiver is a backup, of none",
            "remove backup from those that are used first")
    }

    private func checkWeights() {
        guard !receivers.isEmpty, let place = listener.keyOrigin(\.downstreams),
            receivers.allSatisfy({ $0[\.weight]?.value == 0 })
        else { return }
        findings.warning(
            at: place, "every weight is 0, so no receiver gets traffic",
            "write a weight of at least 1 for one receiver")
    }
}

extension ListenerCheck {
    /// The keys of mode `xdp_nat`, in that mode and in others.
    func checkNAT(_ mode: ForwardingMode) {
        guard mode == .xdpNAT else {
            for origin in ListenerConfiguration.natKeys.compactMap({ listener.keyOrigin($0) }) {
                findings.error(
                    at: origin, "has no meaning in mode \(mode.rawValue)",
                    "remove it, or write mode: xdp_nat")
            }
            return
        }
        checkPlace()
        if let addresses = listener[\.addresses], addresses.value == .any {
            findings.error(
                at: addresses.origin,
                "answers leave as the address that the client spoke to, which has to be known",
                "write a list of addresses")
        }
        checkReceiversOfNAT()
    }

    /// `bind`, or `vip` with `ports`.
    private func checkPlace() {
        if has(\.singleBind), let other = listener.keyOrigin(\.vip) ?? listener.keyOrigin(\.ports) {
            findings.error(
                at: other, "stands beside bind",
                "remove bind, or write the address and port there alone")
        } else if has(\.vip), !has(\.ports) {
            requireKey(\.ports)
        } else if has(\.ports), !has(\.vip) {
            requireKey(\.vip)
        }
    }

    private func checkReceiversOfNAT() {
        let ports = listener.ports
        let portOrigin =
            listener.section(\.file)?.keyOrigin(\.port)
            ?? listener.section(\.dns)?.keyOrigin(\.port)
        if let portOrigin, ports.count > 1,
            let port = listener.value.file?.port ?? listener.value.dns?.port, port != ports[0]
        {
            findings.error(
                at: portOrigin,
                "\(port) is one port, and the listener has \(ports.count), which its receivers share",
                "write \(ports[0]), which stands for all of them, or a listener for each port")
        }
        for address in receiverAddresses {
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

// Requirements of well-known protocols. Another protocol may use the port, so these are warnings.

extension ListenerCheck {
    func checkProtocol() {
        checkReplies()
        guard let port = bind?.value.port, let mode = listener.mode, mode != .xdpNAT,
            let found = WellKnownProtocol(port: port)
        else { return }
        checkSpreading(found, port, mode)
        checkSenders(found, port, mode)
    }

    private var hidesSource: Bool { listener.mode != nil && !listener.preservesSource }

    /// Receivers whose replies are dropped. With `preserve_source` they may reply to the client directly.
    private func checkReplies() {
        guard listener.mode == .userspace, hidesSource else { return }
        for place in (bind.map { [$0] } ?? []) + receiverAddresses {
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

    /// Exporters whose datagrams belong together. With one receiver they stay together.
    private func checkSpreading(
        _ found: WellKnownProtocol, _ port: UInt16, _ mode: ForwardingMode
    ) {
        let balance = listener.value.balance
        guard balance == .roundRobin || balance == .random,
            !listener.lookupOrigins.isEmpty || receivers.count(where: { $0.value.weight > 0 }) > 1
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
            at: listener.origin(\.balance) ?? listener.missing(\.balance),
            "\(port) is a port of \(found.rawValue): with \(balance.rawValue) \(what)",
            "write balance: source_ip" + (hidesSource ? " and preserve_source: true" : ""))
    }

    /// Receivers that identify senders by their source address.
    private func checkSenders(
        _ found: WellKnownProtocol, _ port: UInt16, _ mode: ForwardingMode
    ) {
        guard listener.value.balance == .sourceIP, listener.origin(\.preserveSource) == nil,
            hidesSource
        else { return }
        let what: String
        switch found {
        case .netFlow, .ipfix: what = "a collector tells exporters apart by the source address"
        case .syslog: what = "a server may name senders by the source address"
        case .radius: what = "a server finds a client's secret by the source address"
        default: return
        }
        findings.warning(
            at: listener.missing(\.preserveSource),
            "\(port) is a port of \(found.rawValue): \(what), and without preserve_source that is this "
                + "host's",
            "write preserve_source: true, or preserve_source: false if the receivers do without")
    }
}
