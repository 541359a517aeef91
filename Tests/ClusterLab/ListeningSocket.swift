// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet

/// A TCP socket for a server that is started and stopped. It is not inherited by processes of the test, which would
/// keep it listening.
enum ListeningSocket {
    /// - Parameter address: of IPv4.
    /// - Returns: a descriptor, bound.
    static func open(_ address: String, _ port: Int) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw Failed("socket") }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(port).bigEndian
        name.sin_addr.s_addr = inet_addr(address)
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw Failed("bind \(address):\(port)", code)
        }
        return descriptor
    }
}
