// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import Synchronization

/// A UDP socket that sends and receives.
final class Talker: Sendable {
    let endpoint: Endpoint
    private let socket: Socket

    init(on address: IPAddress, port: UInt16 = 0) throws {
        let family = address.family == .v4 ? AF_INET : AF_INET6
        socket = try Socket(family: family, type: Int32(SOCK_DGRAM.rawValue))
        try socket.bind(to: Endpoint(address, port: port))
        endpoint = Endpoint(address, port: try socket.boundPort)
    }

    func send(_ text: String, to target: Endpoint) throws {
        try socket.sendNow(Array(text.utf8), to: target)
    }

    /// The next datagram; nil when there is none.
    func heard() throws -> (text: String, from: Endpoint)? {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let count = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &size)
            }
        }
        guard count >= 0 else {
            if errno == EAGAIN || errno == EINTR { return nil }
            throw SystemError("recvfrom", code: errno)
        }
        let from = withUnsafeBytes(of: name) { bytes -> Endpoint in
            let port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            func word(_ at: Int) -> UInt64 {
                bytes[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) }
            }
            let address =
                Int32(name.sin6_family) == AF_INET
                ? IPAddress(v4: bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) })
                : IPAddress(high: word(8), low: word(16))
            return Endpoint(address, port: port)
        }
        return (String(decoding: buffer[..<count], as: UTF8.self), from)
    }

    /// Waits for the next datagram.
    func hear() async throws -> (text: String, from: Endpoint) {
        var result: (text: String, from: Endpoint)?
        try await eventually("\(endpoint) hears something") {
            result = try heard()
            return result != nil
        }
        return result!
    }

    /// Sends, and waits for the reply.
    func ask(_ text: String, _ target: Endpoint) async throws -> (text: String, from: Endpoint) {
        try send(text, to: target)
        return try await hear()
    }

    fileprivate var descriptor: Int32 { socket.descriptor }
}

/// A server that answers each datagram with its own name before what it was sent.
final class EchoServer: Sendable {
    let name: String
    let talker: Talker
    private let work: Work
    private let thread: Mutex<Thread?>

    var endpoint: Endpoint { talker.endpoint }
    /// Its requests and their sources.
    var questions: [(text: String, from: Endpoint)] { work.asked.withLock { $0 } }

    /// Datagrams of floods, which it does not answer.
    var ignored: Int { work.ignored.load(ordering: .relaxed) }

    init(_ name: String, on address: IPAddress, port: UInt16 = 0) throws {
        self.name = name
        talker = try Talker(on: address, port: port)
        work = Work(name, talker)
        thread = Mutex(try Thread(name: "echo") { [work] in while work.step() {} })
    }

    deinit { stop() }

    func stop() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        work.isOver.store(true, ordering: .relaxed)
        thread.join()
    }

    private final class Work: Sendable {
        let name: String
        let talker: Talker
        let asked = Mutex<[(text: String, from: Endpoint)]>([])
        let ignored = Atomic(0)
        let isOver = Atomic(false)

        init(_ name: String, _ talker: Talker) { (self.name, self.talker) = (name, talker) }

        /// Waits a little for datagrams and answers them; false at the end.
        func step() -> Bool {
            var waiting = pollfd(fd: talker.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 20) > 0 else { return !isOver.load(ordering: .relaxed) }
            while let question = try? talker.heard() {
                guard question.text != Flood.word else {
                    ignored.add(1, ordering: .relaxed)
                    continue
                }
                asked.withLock { $0.append(question) }
                try? talker.send("\(name) \(question.text)", to: question.from)
            }
            return true
        }
    }
}
