// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet

/// One end of a TCP connection. No call blocks.
final class Stream: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Starts to connect.
    static func connecting(to endpoint: Endpoint) throws -> Stream {
        // Kept until it has a second descriptor.
        let socket = try Socket.connecting(to: endpoint)
        let descriptor = dup(socket.descriptor)
        guard descriptor >= 0 else { throw Failed("dup") }
        return Stream(descriptor)
    }

    /// A listening socket.
    static func listening(on endpoint: Endpoint) throws -> Stream {
        let socket = try Socket.boundStream(on: endpoint)
        guard listen(socket.descriptor, 64) == 0 else { throw Failed("listen") }
        let descriptor = dup(socket.descriptor)
        guard descriptor >= 0 else { throw Failed("dup") }
        return Stream(descriptor)
    }

    /// The next connection to one of several.
    static func accepted(by listening: [Stream]) async throws -> Stream {
        var waiting = listening.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        try await eventually("a connection comes in") {
            poll(&waiting, nfds_t(waiting.count), 0) > 0
        }
        let ready = waiting.first { $0.revents != 0 }?.fd ?? -1
        let accepted = accept(ready, nil, nil)
        guard accepted >= 0 else { throw Failed("accept") }
        return Stream(accepted)
    }

    /// Sends all of it while the other end reads, and returns what that has read.
    func send(_ bytes: [UInt8], to other: Stream) async throws -> [UInt8] {
        var sent = 0
        var heard: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        try await eventually(within: .seconds(30), "\(bytes.count) bytes arrive") {
            while sent < bytes.count {
                let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
                let count = bytes[sent...].withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
                }
                guard count > 0 else { break }
                sent += count
            }
            while true {
                let count = recv(
                    other.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { break }
                heard += buffer[..<count]
            }
            return heard.count >= bytes.count
        }
        return heard
    }
}
