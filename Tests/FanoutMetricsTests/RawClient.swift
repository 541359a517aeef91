// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Runs blocking work on a thread that no Swift task needs to get on.
func blocking<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

/// An HTTP answer as its bytes stood on the wire.
struct Reply {
    let status: Int
    /// The whole header, lower case.
    let head: String
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    func header(_ name: String) -> String? {
        head.components(separatedBy: "\r\n").first { $0.hasPrefix(name + ": ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }
}

/// A TCP client that sends and reads exactly what a test says. Every wait ends after 20 seconds.
final class RawClient {
    struct Failed: Error {
        let call: String
        let code = errno
    }

    let socket: Int32
    private var unread: [UInt8] = []

    init(port: UInt16, receiveBufferBytes: Int32? = nil) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failed(call: "socket") }
        if var size = receiveBufferBytes {
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var wait = timeval(tv_sec: 20, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &wait, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failed(call: "connect") }
    }

    deinit { close(socket) }

    /// Sends all of it, or as much as the server takes before it closes.
    ///
    /// - Returns: whether all of it was taken.
    @discardableResult
    func send(_ bytes: some Sequence<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(text.utf8) }

    func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// One answer. A body is read unless the request was HEAD.
    func reply(toHead: Bool = false) throws -> Reply {
        while unread.firstRange(of: Array("\r\n\r\n".utf8)) == nil { try fill() }
        guard let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Failed(call: "header")
        }
        let head = String(decoding: unread[..<end.lowerBound], as: UTF8.self)
        unread.removeSubrange(..<end.upperBound)
        let words = head.split(separator: " ", maxSplits: 2)
        guard head.hasPrefix("HTTP/1."), words.count > 1, let status = Int(words[1]) else {
            throw Failed(call: "status")
        }
        var reply = Reply(status: status, head: head.lowercased(), body: [])
        guard !toHead, let length = reply.header("content-length").flatMap({ Int($0) }) else {
            return reply
        }
        while unread.count < length { try fill() }
        reply.body = Array(unread[..<length])
        unread.removeSubrange(..<length)
        return reply
    }

    func get(_ target: String, header: String = "") throws -> Reply {
        send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n")
        return try reply()
    }

    /// Reads until the server closes; returns what came.
    ///
    /// - Throws: `Failed` after 20 seconds, and for a reset unless that is fine.
    func rest(resetIsFine: Bool = true) throws -> [UInt8] {
        while true {
            do { try fill() } catch let failure as Failed {
                let isReset = failure.call == "recv" && failure.code == ECONNRESET
                guard failure.call == "end" || (isReset && resetIsFine) else { throw failure }
                defer { unread = [] }
                return unread
            }
        }
    }

    /// Waits until the server has closed, without reading.
    func waitForClose() -> Bool {
        let peerClosed: Int16 = 0x2000  // POLLRDHUP, which Swift does not see
        var waited = pollfd(fd: socket, events: peerClosed, revents: 0)
        return poll(&waited, 1, 20_000) == 1
    }

    private func fill() throws {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else { throw Failed(call: count == 0 ? "end" : "recv") }
        unread.append(contentsOf: chunk[..<count])
    }
}
