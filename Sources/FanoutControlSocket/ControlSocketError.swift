// SPDX-License-Identifier: Apache-2.0

public import LinuxNet

/// A control socket that could not be opened, and what to do about it.
public struct ControlSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    public let path: String
    public let refusal: UnixListener.Refusal

    init(_ refusal: UnixListener.Refusal, path: String) {
        self.refusal = refusal
        self.path = path
    }

    public var description: String {
        switch refusal {
        case .taken(let pid):
            "control socket \(path): a daemon that runs has it"
                + (pid.map { " (process \($0))" } ?? "")
                + ": end that one, or write another control.socket"
        case .notASocket:
            "control socket \(path): something else than a socket is there: remove it, or write "
                + "another control.socket"
        case .locked(let file, let pid):
            "control socket \(path): lock \(file): another process"
                + (pid.map { " (process \($0))" } ?? "")
                + " has held it for 5 s: end that process and start again"
        case .system(let error):
            "control socket \(path): \(error): write a control.socket in a folder that this user may "
                + "write to, or control.enabled: false"
        }
    }
}
