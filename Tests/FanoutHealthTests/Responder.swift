// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import Synchronization

/// A receiver that does as it is told with what it gets.
final class Responder: Sendable {
    enum Manner: Sendable {
        /// Sends back what came.
        case echo
        /// Sends something else back.
        case wrong
        /// Sends back what came, from a socket of its own.
        case otherSource
        case silent
    }

    let endpoint: Endpoint
    private let socket: Socket
    private let other: Socket
    private let counted = Mutex<[(bytes: [UInt8], port: UInt16)]>([])
    private let ending = Atomic(false)
    private let thread: Mutex<Thread?>

    var datagrams: [[UInt8]] { counted.withLock { $0.map(\.bytes) } }
    /// The ports that they came from.
    var sources: [UInt16] { counted.withLock { $0.map(\.port) } }

    init(_ manner: Manner, on address: IPAddress = .loopback, port: UInt16 = 0) throws {
        socket = try Socket.listening(on: Endpoint(address, port: port), sharing: .exclusive)
        other = try Socket.listening(on: Endpoint(address, port: 0), sharing: .exclusive)
        endpoint = Endpoint(address, port: try socket.boundPort)
        thread = Mutex(nil)
        try thread.withLock {
            $0 = try Thread(name: "responder") { [unowned self] in run(manner) }
        }
    }

    deinit { stop() }

    /// Ends it; its port is free once it is gone.
    func stop() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        ending.store(true, ordering: .releasing)
        socket.wakeReceiver()
        thread.join()
    }

    private func run(_ manner: Manner) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !ending.load(ordering: .acquiring) {
            var name = sockaddr_in6()
            var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let count = withUnsafeMutablePointer(to: &name) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                    let count = recvfrom(socket.descriptor, &buffer, buffer.count, 0, name, &size)
                    guard count > 0, manner != .silent else { return count }
                    let bytes = manner == .wrong ? Array("alive\n".utf8) : Array(buffer[..<count])
                    let from = manner == .otherSource ? other.descriptor : socket.descriptor
                    _ = sendto(from, bytes, bytes.count, 0, name, size)
                    return count
                }
            }
            guard count > 0 else { continue }
            // Either family has its port at one place.
            let port = UInt16(bigEndian: name.sin6_port)
            counted.withLock { $0.append((Array(buffer[..<count]), port)) }
        }
    }
}
