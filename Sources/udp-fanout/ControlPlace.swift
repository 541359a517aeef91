// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// Where the control socket is unless it is written.
enum ControlPlace {
    static let fileName = "control.sock"
    /// Of a daemon that root or a service runs.
    static let system = "/run/udp-fanout/\(fileName)"

    /// Where this process would have it: in the runtime folder that a service is given (systemd.exec(5),
    /// RUNTIME_DIRECTORY), else the system's for root and the user's own for others; nil without one.
    static var own: String? {
        if let folder = Environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            return "\(folder)/\(fileName)"
        }
        return ThisProcess.effectiveUser == 0 ? system : ofUser
    }

    /// Where a client looks: its own place first, then the system's.
    static var candidates: [String] {
        [own, system].compactMap { $0 }
    }

    /// Of a user's session (XDG Base Directory Specification).
    private static var ofUser: String? {
        guard let folder = Environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return "\(folder)/udp-fanout/\(fileName)"
    }
}
