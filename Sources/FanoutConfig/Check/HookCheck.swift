// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// All listeners of an interface share one program, so they agree on how it is attached. O(listeners).
enum HookCheck {
    static func run(_ drafts: [ListenerDraft], _ findings: Findings) {
        var first: [String: ListenerDraft] = [:]
        for draft in drafts where draft.mode?.value == .tcEBPF {
            // Who leaves the choice open takes what another one wants.
            guard draft.settings.tcAttach != .auto, let interface = draft.interface else {
                continue
            }
            guard let other = first[interface.value] else {
                first[interface.value] = draft
                continue
            }
            guard other.settings.tcAttach != draft.settings.tcAttach else { continue }
            let line = (other.attachOrigin ?? other.interface?.origin)?.line
            findings.error(
                at: draft.attachOrigin ?? interface.origin,
                "tc_attach is \(draft.settings.tcAttach.rawValue) here and "
                    + "\(other.settings.tcAttach.rawValue) for \(other.title)"
                    + (line.map { " (line \($0))" } ?? "")
                    + ", and both hook into \(interface.value.quoted)",
                "write one tc_attach for all listeners of an interface")
        }
    }
}
