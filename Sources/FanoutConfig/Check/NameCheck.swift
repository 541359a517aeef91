// SPDX-License-Identifier: Apache-2.0

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
