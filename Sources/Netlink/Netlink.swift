// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import Glibc

/// What the kernel knows of the network, asked over rtnetlink(7): links, addresses, routes,
/// neighbours.
///
/// It answers for the network namespace of the thread that made it, whichever thread asks. Asking
/// needs no privilege. Every call is a few system calls that do not wait for the network.
public struct Netlink: ~Copyable, Sendable {
    private let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// How often a table is read anew when it changes meanwhile.
    private static let attempts = 32

    /// - Throws: `NetlinkError` EMFILE or ENFILE when descriptors run out; EPROTONOSUPPORT or EPERM
    ///   where netlink is not to be had, as in some sandboxes.
    public init() throws(NetlinkError) { try self.init(receiveBufferBytes: 1 << 20) }

    /// - Parameters:
    ///   - receiveBufferBytes: what the kernel keeps of answers that are not read yet.
    ///   - bus: NETLINK_ROUTE or NETLINK_GENERIC.
    init(receiveBufferBytes: Int32, bus: Int32 = NETLINK_ROUTE) throws(NetlinkError) {
        let socket = try NetlinkSocket(bus: bus)
        _ = try socket.setReceiveBuffer(bytes: receiveBufferBytes)
        self.socket = socket
    }

    /// What an errno is about.
    struct Purpose {
        let operation: String
        private let subject: () -> String

        /// - Parameter subject: thousands of questions are asked that do not fail, so it is spelled when
        ///   one does.
        init(operation: String, subject: @autoclosure @escaping () -> String) {
            self.operation = operation
            self.subject = subject
        }

        func error(_ errno: Int32, _ detail: String? = nil, remedy: String? = nil) -> NetlinkError {
            NetlinkError(
                operation: operation, subject: subject(), errno: errno, detail: detail,
                remedy: remedy)
        }
    }

    /// The answer to a request: one message, or those of a whole table, which is read again if it
    /// changed while it was read.
    ///
    /// - Throws: `NetlinkError` with the kernel's errno and words; EINTR when a table changes all
    ///   the time.
    mutating func ask(
        _ request: NetlinkRequest, _ purpose: Purpose
    ) throws(NetlinkError) -> [NetlinkMessage] {
        for _ in 0..<Self.attempts {
            sequence &+= 1
            try socket.send(request.numbered(sequence))
            if let messages = try answer(to: request, purpose) { return messages }
        }
        throw purpose.error(EINTR)
    }

    /// The answers to requests for one thing each, which are asked in one system call.
    ///
    /// - Returns: in the order of the requests; nil for one that was refused, and for all when the kernel had no
    ///   memory for that many at once. Whoever wants to know why asks for it by itself.
    /// - Throws: `NetlinkError` when the kernel does not answer.
    mutating func askTogether(
        _ requests: [NetlinkRequest]
    ) throws(NetlinkError) -> [NetlinkMessage?] {
        let first = sequence &+ 1
        var bytes: [UInt8] = []
        for request in requests {
            sequence &+= 1
            bytes += request.numbered(sequence)
        }
        try socket.send(bytes[...])
        var answers = [NetlinkMessage?](repeating: nil, count: requests.count)
        var left = requests.count
        while left > 0 {
            guard let received = try receive() else { return answers.map { _ in nil } }
            for message in received where message.port == socket.port {
                // What an abandoned request left behind has another number.
                let place = Int(message.sequence &- first)
                guard place < answers.count else { continue }
                if message.type != NLMSG_ERROR { answers[place] = message }
                left -= 1
            }
        }
        return answers
    }

    /// Reads the answer to the last request to its end; nil when it is not to be relied on.
    private func answer(
        to request: NetlinkRequest, _ purpose: Purpose
    ) throws(NetlinkError) -> [NetlinkMessage]? {
        var answer = Answer(sequence: sequence, port: socket.port, isDump: request.isDump)
        while true {
            guard let received = try receive() else { return nil }
            for message in received {
                switch answer.take(message) {
                case .more: continue
                case .whole: return answer.messages
                case .inconsistent: return nil
                case .refused(let errno, let detail): throw purpose.error(errno, detail)
                }
            }
        }
    }

    /// What has arrived; nil when the kernel had no memory for (a part of) the answers, the rest of which is
    /// thrown away.
    private func receive() throws(NetlinkError) -> [NetlinkMessage]? {
        do throws(NetlinkError) {
            return try socket.receive()
        } catch {
            guard error.errno == ENOBUFS else { throw error }
            socket.drain()
            return nil
        }
    }
}
