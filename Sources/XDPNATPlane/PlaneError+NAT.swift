// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import LinuxNet

extension PlaneError {
    /// The oldest kernel that can verify the program, whose global functions have keys of maps as arguments.
    /// Multi-buffer packets (`xdp.frags`) are older: Linux 5.18.
    private static let oldestKernel = "6.2"

    /// An error of libbpf or the kernel.
    init(_ error: BPFError) {
        self.init(
            error, mode: .xdpNAT, oldestKernel: Self.oldestKernel,
            lacking: Capabilities.kernelPrograms.subtracting(.permitted).names)
    }

    /// Two listeners have the same server.
    init(_ conflict: ServerConflict) {
        self.init(
            operation: "serve", subject: "listener \(conflict.listener)",
            reason: "\(conflict.server) is a receiver of \(conflict.other) too, and its packets "
                + "cannot be distinguished",
            remedy: "use another port for one of the two")
    }
}

/// A server that two listeners, or two ports of one, have.
struct ServerConflict: Equatable {
    let listener: String
    let other: String
    let server: Endpoint

    static func first(among listeners: [Listener]) -> ServerConflict? {
        var owners: [Endpoint: String] = [:]
        for listener in listeners {
            for port in listener.ports {
                for downstream in listener.downstreams {
                    let server = listener.endpoint(of: downstream, at: port)
                    if let other = owners.updateValue(listener.name, forKey: server) {
                        return ServerConflict(
                            listener: listener.name, other: other, server: server)
                    }
                }
            }
        }
        return nil
    }
}

extension BPFError {
    /// More than the kernel program has room for.
    static func tooMany(_ listeners: [Listener]) -> BPFError {
        let ports = listeners.reduce(0) { $0 + $1.ports.count }
        return BPFError(
            operation: "lay out", subject: "\(listeners.count) listeners of mode xdp_nat",
            errno: E2BIG,
            reason: "a program carries \(LB_LISTENERS_MAX) ports, \(LB_SERVERS_MAX) servers and "
                + "\(LB_SERVICES_MAX) services, and these have \(ports) ports",
            remedy: "serve fewer ports, or set another mode for some listeners")
    }
}
