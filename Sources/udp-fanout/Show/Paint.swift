// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// Colours for a terminal (ECMA-48, SGR), or none.
struct Paint {
    let isOn: Bool

    /// For standard output: on a terminal, unless NO_COLOR says otherwise (https://no-color.org) or the
    /// terminal is dumb.
    static var ofOutput: Paint {
        let isUnwanted = Environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return Paint(
            isOn: StandardStream.output.isTerminal && !isUnwanted && Environment["TERM"] != "dumb")
    }

    func strong(_ text: String) -> String { wrap(text, "1") }
    func warn(_ text: String) -> String { wrap(text, "33") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    func good(_ text: String) -> String { wrap(text, "32") }

    private func wrap(_ text: String, _ code: String) -> String {
        isOn ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
