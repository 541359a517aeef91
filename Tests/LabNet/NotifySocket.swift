// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The service manager's socket for notifications (sd_notify(3)).
public final class NotifySocket: Sendable {
    public let path: String
    private let descriptor: Int32
    private let received = Mutex<[String]>([])
    private let store = Mutex<[(descriptor: Int32, name: String)]>([])

    /// - Parameter folder: where the socket is.
    public init(_ folder: ScratchFolder) throws {
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

    deinit {
        close(descriptor)
        for kept in store.withLock({ $0 }) { close(kept.descriptor) }
    }

    /// Every line that has come, in order.
    public var lines: [String] {
        while let message = Message.next(at: descriptor) {
            let lines = message.text.split(separator: "\n").map(String.init)
            received.withLock { $0 += lines }
            follow(lines, message.descriptors)
        }
        return received.withLock { $0 }
    }

    /// The descriptors that the service has stored for the next start (systemd.service(5), FileDescriptorStoreMax=).
    public var kept: [(descriptor: Int32, name: String)] {
        _ = lines
        return store.withLock { $0 }
    }

    private func follow(_ lines: [String], _ descriptors: [Int32]) {
        let name =
            lines.first { $0.hasPrefix("FDNAME=") }.map { String($0.dropFirst(7)) } ?? "stored"
        store.withLock { store in
            if lines.contains("FDSTORE=1") {
                store += descriptors.map { (descriptor: $0, name: name) }
            } else if lines.contains("FDSTOREREMOVE=1") {
                for kept in store where kept.name == name { close(kept.descriptor) }
                store.removeAll { $0.name == name }
            }
        }
    }

    public func count(_ line: String) -> Int { lines.count { $0 == line } }
}
