// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Synchronization

/// Ports for tests: below the kernel's ephemeral range, never the same one twice.
enum Ports {
    private static let next = Atomic<UInt32>(UInt32.random(in: 0..<8000))

    /// A port that is free for UDP and TCP on every address right now.
    static func free() throws -> UInt16 {
        for _ in 0..<8000 {
            let (number, _) = next.wrappingAdd(1, ordering: .relaxed)
            let port = UInt16(21_000 + number % 8000)
            if isFree(port, SOCK_DGRAM), isFree(port, SOCK_STREAM) { return port }
        }
        throw Failed("no free port", EADDRINUSE)
    }

    static func isFree(_ port: UInt16, _ type: __socket_type) -> Bool {
        guard let socket = try? HeldPort(port, type, address: INADDR_ANY) else { return false }
        return socket.port == port
    }
}

/// A socket that occupies a port.
final class HeldPort: Sendable {
    let descriptor: Int32
    let port: UInt16

    init(
        _ port: UInt16, _ type: __socket_type, address: UInt32 = 0x7f00_0001, listens: Bool = false
    ) throws {
        self.port = port
        let kind = Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw Failed("socket") }
        if listens {
            // Ignore connections of an earlier server in TIME_WAIT.
            var yes: Int32 = 1
            setsockopt(
                descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        do {
            try Self.bind(descriptor, to: port, address: address)
        } catch {
            close(descriptor)
            throw error
        }
        if listens { listen(descriptor, 8) }
    }

    deinit { close(descriptor) }

    /// bind(2) to an IPv4 address, by default loopback.
    static func bind(_ socket: Int32, to port: UInt16, address: UInt32 = 0x7f00_0001) throws {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = address.bigEndian
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failed("bind \(port)") }
    }
}
