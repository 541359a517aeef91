// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc

extension PlaneError {
    /// The oldest kernel that can verify the program: it takes the keys of maps from memory that functions are
    /// given.
    private static let oldestKernel = "6.2"

    /// What libbpf or the kernel refused.
    init(_ error: BPFError) {
        self.init(error, mode: .xdpNAT, oldestKernel: Self.oldestKernel)
    }

    /// Two listeners have one server.
    init(_ conflict: ServerConflict) {
        self.init(
            operation: "serve", subject: "listener \(conflict.listener)",
            reason: "\(conflict.server) is a receiver of \(conflict.other) too, and its packets "
                + "could not be told apart",
            remedy: "give it another port for one of the two")
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
            remedy: "serve fewer ports, or write another mode for some")
    }
}
