// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Synchronization

/// What systemd is to a service: a socket for its notifications (sd_notify(3)).
final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32
    private let received = Mutex<[String]>([])

    /// - Parameter folder: where the socket is.
    init(_ folder: ScratchFolder) throws {
        path = folder.path("notify.sock")
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { room in
            for (index, byte) in path.utf8.enumerated() { room[index] = byte }
        }
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw Failed("bind \(path)") }
    }

    deinit { close(descriptor) }

    /// Every line that has come, in order.
    var lines: [String] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(
            descriptor, &bytes, bytes.count, Int32(truncatingIfNeeded: Int(MSG_DONTWAIT))),
            count > 0
        {
            let text = String(decoding: bytes.prefix(count), as: UTF8.self)
            received.withLock { $0 += text.split(separator: "\n").map(String.init) }
        }
        return received.withLock { $0 }
    }

    func count(_ line: String) -> Int { lines.count { $0 == line } }
}
