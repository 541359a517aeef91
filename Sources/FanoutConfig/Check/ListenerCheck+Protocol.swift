// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

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
