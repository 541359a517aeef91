// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Whether the daemon gets to know that receivers refuse: an ICMP error goes to the source of the datagram that it is
/// about, which has to be a socket of this host.
enum PassiveCheck {
    static func run(_ drafts: [ListenerDraft], at place: Origin, _ findings: Findings) {
        for draft in drafts {
            guard let mode = draft.mode?.value,
                draft.preserveSource?.value ?? mode.preservesSourceByDefault
            else { continue }
            let cause =
                mode == .userspace ? "keeps the client's source" : "is of mode \(mode.rawValue)"
            findings.error(
                at: place,
                "\(draft.title) \(cause), so refusals (ICMP errors) go to the client and not to this host",
                "remove it, or write mode: userspace without preserve_source for every listener")
            return
        }
    }
}
