// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// The socket operations of the bench itself.
enum Loopback {
    /// Free ports of 127.0.0.1, for UDP and TCP. They are below the kernel's ephemeral range, so that none is taken
    /// before it is used.
    static func freePorts(_ count: Int) throws -> [Int] {
        var ports: Set<Int> = []
        for _ in 0..<10_000 where ports.count < count {
            let port = Int.random(in: 10_000...30_000)
            if isFree(port, SOCK_DGRAM), isFree(port, SOCK_STREAM) { ports.insert(port) }
        }
        guard ports.count == count else { throw Trouble("no free ports on 127.0.0.1") }
        return Array(ports)
    }

    /// The body of a GET of HTTP/1.0 from 127.0.0.1.
    static func get(_ path: String, port: Int) throws -> String {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard fd >= 0 else { throw Trouble("socket for port \(port)") }
        defer { close(fd) }
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(
            fd, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        guard withAddress(port, { connect(fd, $0, $1) }) == 0 else {
            throw Trouble("connect to 127.0.0.1:\(port): \(String(cString: strerror(errno)))")
        }
        let request = Array("GET \(path) HTTP/1.0\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8)
        guard send(fd, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
        else { throw Trouble("send to 127.0.0.1:\(port)") }

        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(fd, &buffer, buffer.count, 0)
            guard count >= 0 else { throw Trouble("no answer from 127.0.0.1:\(port)") }
            if count == 0 { break }
            answer += buffer[..<count]
        }
        let text = String(decoding: answer, as: UTF8.self)
        guard let head = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1"),
            text.split(separator: " ").dropFirst().first == "200"
        else { throw Trouble("127.0.0.1:\(port)\(path) answers \(text.prefix(80))") }
        guard !text[..<head.lowerBound].lowercased().contains("transfer-encoding: chunked") else {
            throw Trouble("127.0.0.1:\(port)\(path) answers HTTP/1.0 in chunks")
        }
        return String(text[head.upperBound...])
    }

    private static func isFree(_ port: Int, _ type: __socket_type) -> Bool {
        let fd = socket(AF_INET, Int32(type.rawValue), 0)
        guard fd >= 0 else { return false }
        defer { close(fd) }
        return withAddress(port) { bind(fd, $0, $1) } == 0
    }

    private static func withAddress(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(UInt32(0x7f00_0001).bigEndian)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
