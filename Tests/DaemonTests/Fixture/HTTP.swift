// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet

/// One HTTP exchange with a server on loopback, over a plain socket.
enum HTTP {
    struct Reply: Sendable {
        let status: Int
        let body: String
    }

    /// - Throws: `Failed` when there is no server, or no complete response within 10 seconds.
    static func get(_ path: String, port: UInt16) async throws -> Reply {
        try await offPool { try exchange(path, port) }
    }

    private static func exchange(_ path: String, _ port: UInt16) throws -> Reply {
        let socket = try connect(port)
        defer { close(socket) }
        let request = Array(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failed("send")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count >= 0 else { throw Failed("recv") }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Failed("a response without a header", EPROTO)
        }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let words = head.split(separator: " ", maxSplits: 2)
        guard words.count > 1, let status = Int(words[1]) else { throw Failed("status", EPROTO) }
        return Reply(
            status: status, body: String(decoding: bytes[end.upperBound...], as: UTF8.self))
    }

    /// A connection to 127.0.0.1; its calls end after 10 seconds.
    static func connect(_ port: UInt16, receiveBufferBytes: Int32? = nil) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(AF_INET, kind, 0)
        guard socket >= 0 else { throw Failed("socket") }
        if var size = receiveBufferBytes {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(socket)
            throw Failed("connect to port \(port)", code)
        }
        return socket
    }
}
