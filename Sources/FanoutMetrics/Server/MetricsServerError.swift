// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import FanoutCore
internal import LinuxNet
internal import NIOCore

/// Why the metrics server could not open its port, and the remedy.
public struct MetricsServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The configuration key of the address.
    public let operation: String
    /// The address.
    public let subject: String
    /// The kernel's errno, or 0 if the kernel did not refuse.
    public let code: Int32
    /// The kernel's name of the error, or the cause.
    public let reason: String
    /// What the operator can do.
    public let remedy: String

    /// Such as `metrics.bind 127.0.0.1:9090: EADDRINUSE: another process serves this port; choose
    /// another metrics.bind`.
    public var description: String { "\(operation) \(subject): \(reason): \(remedy)" }

    init(binding endpoint: Endpoint, _ error: any Error) {
        operation = "metrics.bind"
        subject = "\(endpoint)"
        code = (error as? IOError)?.errnoCode ?? 0
        (reason, remedy) = Self.words(for: error, code)
    }

    init(preparing error: SystemError) {
        operation = error.operation
        subject = "thread of the metrics server"
        code = error.code
        reason = error.name
        remedy =
            error.code == EAGAIN
            ? "raise the limit of threads (ulimit -u, pids.max of the cgroup, or TasksMax of the unit)"
            : "raise the limit of open files (ulimit -n, or LimitNOFILE of the unit)"
    }

    private static func words(for error: any Error, _ code: Int32) -> (String, String) {
        switch code {
        case EADDRINUSE:
            ("EADDRINUSE", "another process serves this port; choose another metrics.bind")
        case EADDRNOTAVAIL:
            ("EADDRNOTAVAIL", "no interface of this host has the address; correct metrics.bind")
        case EACCES:
            ("EACCES", "ports below 1024 need CAP_NET_BIND_SERVICE; choose another metrics.bind")
        case EAFNOSUPPORT:
            ("EAFNOSUPPORT", "this host has no such address family; correct metrics.bind")
        case EMFILE, ENFILE:
            (code == EMFILE ? "EMFILE" : "ENFILE", "raise the limit of open files (LimitNOFILE)")
        case 0: ("\(error)", "correct metrics.bind")
        default: ("errno \(code)", "choose another metrics.bind")
        }
    }
}
