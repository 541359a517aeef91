// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Names are metric labels and tell listeners apart when the file changes, so each must be unique.
enum NameCheck {
    static func run(_ listeners: [DecodedListener], _ findings: Findings) {
        var lines: [String: Int] = [:]
        for name in listeners.compactMap({ $0[\.name] }) {
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

/// All listeners of an interface share one program, so they must agree on how it is attached. O(listeners).
enum HookCheck {
    static func run(_ listeners: [DecodedListener], _ findings: Findings) {
        agree(
            listeners.filter { $0.mode == .tcEBPF }, on: \.listener.tcAttach, auto: .auto, findings)
        agree(
            listeners.filter { $0.mode == .afXDP }, on: \.listener.xdpMode, auto: .auto, findings)
    }

    /// - Parameter auto: what a listener has that takes the choice of another one.
    private static func agree<Choice: RawRepresentable<String> & Equatable>(
        _ listeners: [DecodedListener], on path: KeyPath<SettingsSection, Choice>, auto: Choice,
        _ findings: Findings
    ) {
        /// Where a listener's own settings say it.
        func own(_ listener: DecodedListener) -> Origin? {
            listener.section(\.settingsSection)?.keyOrigin(path)
        }
        let name = SettingsSection.section.key(path).name
        var first: [String: DecodedListener] = [:]
        for listener in listeners {
            let choice = listener.value.settingsSection[keyPath: path]
            guard choice != auto, let interface = listener[\.interface] else { continue }
            guard let other = first[interface.value] else {
                first[interface.value] = listener
                continue
            }
            let otherChoice = other.value.settingsSection[keyPath: path]
            guard otherChoice != choice else { continue }
            let line = (own(other) ?? other.origin(\.interface))?.line
            findings.error(
                at: own(listener) ?? interface.origin,
                "\(name) is \(choice.rawValue) here and \(otherChoice.rawValue) for \(other.title)"
                    + (line.map { " (line \($0))" } ?? "")
                    + ", and both hook into \(interface.value.quoted)",
                "write one \(name) for all listeners of an interface")
        }
    }
}
