// SPDX-License-Identifier: Apache-2.0

/// What one look at the host has shown.
struct Finding: Codable, Equatable, Sendable {
    enum Level: String, Codable, Sendable {
        case ok
        /// It works, but not as well as it could.
        case advice
        /// Something that the configuration asks for does not work.
        case problem
    }

    let level: Level
    /// What was looked at, such as `receive buffer`.
    let check: String
    /// What was found.
    let found: String
    /// What to do; empty when nothing is to be done.
    let remedy: String

    static func ok(_ check: String, _ found: String) -> Finding {
        Finding(level: .ok, check: check, found: found, remedy: "")
    }

    static func advice(_ check: String, _ found: String, do remedy: String) -> Finding {
        Finding(level: .advice, check: check, found: found, remedy: remedy)
    }

    static func problem(_ check: String, _ found: String, do remedy: String) -> Finding {
        Finding(level: .problem, check: check, found: found, remedy: remedy)
    }
}

/// What `udp-fanout doctor --json` prints.
struct DoctorReport: Codable, Equatable, Sendable {
    /// Whether there is no problem.
    let ok: Bool
    let findings: [Finding]

    init(_ findings: [Finding]) {
        ok = !findings.contains { $0.level == .problem }
        self.findings = findings
    }
}
