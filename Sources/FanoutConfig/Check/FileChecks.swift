// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Names are metric labels and tell listeners apart when the file changes, so each stands once.
enum NameCheck {
    static func run(_ drafts: [ListenerDraft], _ findings: Findings) {
        var lines: [String: Int] = [:]
        for name in drafts.compactMap(\.name) {
            if let line = lines[name.value] {
                findings.error(
                    at: name.origin,
                    "\(name.value.quoted) is the name of the listener on line \(line)",
                    "write another name")
            } else {
                lines[name.value] = name.origin.line ?? 0
            }
        }
    }
}

/// All listeners of an interface share one program, so they agree on how it is attached. O(listeners).
enum HookCheck {
    static func run(_ drafts: [ListenerDraft], _ findings: Findings) {
        agree(drafts.filter { $0.mode?.value == .tcEBPF }, on: .tcAttach, findings) { draft in
            let attach = draft.settings.tcAttach
            return Wish(word: attach == .auto ? nil : attach.rawValue, origin: draft.attachOrigin)
        }
        agree(drafts.filter { $0.mode?.value == .afXDP }, on: .xdpMode, findings) { draft in
            let mode = draft.settings.xdpMode
            return Wish(word: mode == .auto ? nil : mode.rawValue, origin: draft.xdpModeOrigin)
        }
    }

    /// How a listener wants its interface hooked.
    private struct Wish {
        /// nil for who leaves the choice open, and takes what another one wants.
        let word: String?
        /// Where its own settings say so.
        let origin: Origin?
    }

    private static func agree(
        _ drafts: [ListenerDraft], on key: ConfigKey, _ findings: Findings,
        wish: (ListenerDraft) -> Wish
    ) {
        var first: [String: ListenerDraft] = [:]
        for draft in drafts {
            let own = wish(draft)
            guard let word = own.word, let interface = draft.interface else { continue }
            guard let other = first[interface.value] else {
                first[interface.value] = draft
                continue
            }
            let theirs = wish(other)
            guard let otherWord = theirs.word, otherWord != word else { continue }
            let line = (theirs.origin ?? other.interface?.origin)?.line
            findings.error(
                at: own.origin ?? interface.origin,
                "\(key.name) is \(word) here and \(otherWord) for \(other.title)"
                    + (line.map { " (line \($0))" } ?? "")
                    + ", and both hook into \(interface.value.quoted)",
                "write one \(key.name) for all listeners of an interface")
        }
    }
}

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
