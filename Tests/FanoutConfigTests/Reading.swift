// SPDX-License-Identifier: Apache-2.0

import FanoutConfig

/// A configuration file as a test writes it, and what became of it.
struct Reading {
    let result: ConfigurationResult

    init(_ yaml: String) { result = Configuration.read(yaml, file: "f") }

    init(bytes: [UInt8]) { result = Configuration.read(bytes, file: "f") }

    /// One listener with these further lines, each indented to stand beside its name.
    init(listener lines: String) { self.init(Self.yaml(listener: lines)) }

    static func yaml(listener lines: String) -> String {
        let body = lines.split(separator: "\n").map { "    " + $0 + "\n" }.joined()
        return "listeners:\n  - name: a\n" + body
    }

    /// A listener that is right as it is, so that only what stands beside it can be wrong.
    static let good = yaml(
        listener: """
            bind: 0.0.0.0:514
            downstream: [{name: r, address: "192.0.2.1:514"}]
            """)

    var configuration: Configuration? {
        if case .valid(let configuration, _) = result { configuration } else { nil }
    }

    var errors: [String] {
        if case .invalid(let problems) = result { problems.map(\.description) } else { [] }
    }

    var warnings: [String] {
        if case .valid(_, let warnings) = result { warnings.map(\.description) } else { [] }
    }

    /// The first listener of a valid file.
    var listener: ListenerConfiguration? { configuration?.listeners.first }
}
