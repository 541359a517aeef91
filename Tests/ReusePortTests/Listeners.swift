// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import ReusePortLB
import Testing

/// TCP listeners of one group within this process.
final class Listeners {
    let endpoint: Endpoint
    private var descriptors: [Int: Int32] = [:]

    init(count: Int, on endpoint: Endpoint) throws {
        self.endpoint = endpoint
        for slot in 0..<count { descriptors[slot] = try Self.listener(endpoint) }
    }

    deinit { for descriptor in descriptors.values { close(descriptor) } }

    private static func listener(_ endpoint: Endpoint) throws -> Int32 {
        let socket = try Socket(
            family: endpoint.address.nativeFamily,
            type: Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue))
        try socket.setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
        try socket.bind(to: endpoint)
        guard listen(socket.descriptor, 1024) == 0 else {
            throw SystemError("listen", code: errno)
        }
        return fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
    }

    func descriptor(_ slot: Int) throws -> Int32 { try #require(descriptors[slot]) }

    func close(_ slot: Int) {
        if let descriptor = descriptors.removeValue(forKey: slot) { Glibc.close(descriptor) }
    }

    private func close(_ descriptor: Int32) { Glibc.close(descriptor) }

    /// Accepts the waiting connections of a listener; returns the peers.
    func accept(_ slot: Int) throws -> [IPAddress] {
        var peers: [IPAddress] = []
        while true {
            var name = sockaddr_in6()
            var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let connection = try withUnsafeMutablePointer(to: &name) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.accept(try descriptor(slot), $0, &size)
                }
            }
            guard connection >= 0 else { return peers }
            Glibc.close(connection)
            peers.append(
                withUnsafeBytes(of: &name) { Endpoint(native: $0.baseAddress!).address })
        }
    }
}

/// A connection from a source of its own.
func connection(from source: IPAddress, to endpoint: Endpoint) throws -> Socket {
    let socket = try Socket(
        family: endpoint.address.nativeFamily, type: Int32(SOCK_STREAM.rawValue))
    try socket.bind(to: Endpoint(source, port: 0))
    try socket.connect(to: endpoint)
    return socket
}
