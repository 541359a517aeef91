// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

// What the protocol of a well-known port asks of a listener. Another protocol may use the port, so these are warnings.

extension ListenerCheck {
    func checkProtocol() {
        guard let port = draft.bind?.value.port, let mode = draft.mode?.value, mode != .xdpNAT,
            let found = WellKnownProtocol(port: port)
        else { return }
        checkSpreading(found, port, mode)
        checkSenders(found, port, mode)
    }

    private var hidesSource: Bool {
        !(draft.preserveSource?.value ?? draft.mode?.value.preservesSourceByDefault ?? true)
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
        case .syslog, .dns, .radius, .sip: return
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
        case .sFlow, .dns, .sip: return
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
