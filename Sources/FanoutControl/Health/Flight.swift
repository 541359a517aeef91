// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// A running probe. It has its own socket, which is closed with it, so that no reply to an earlier probe is taken
/// for its reply.
final class Flight {
    let target: ProbeTarget
    /// The nonce that a reply must carry.
    let nonce: UInt64
    /// Whether silence is a failure.
    private let expectsReply: Bool
    private let socket: SocketBox?
    /// Replies that do not match and so do not count.
    private var wrongAnswers = 0

    /// So many wrong replies end a probe: they are unsolicited.
    private static let wrongAnswersMax = 16

    /// An echo request, sent and received through the shared socket.
    init(echoTo target: ProbeTarget, nonce: UInt64) {
        self.target = target
        self.nonce = nonce
        expectsReply = true
        socket = nil
    }

    /// A probe through its own socket, which is sent.
    init(
        _ target: ProbeTarget, plan: ProbePlan, nonce: UInt64, poller: Poller, token: UInt64
    ) throws(SystemError) {
        self.target = target
        self.nonce = nonce
        expectsReply = plan.expectsReply(target.kind)
        let isTCP = target.kind == .tcp
        let box =
            try isTCP
            ? SocketBox(Socket.connecting(to: target.endpoint))
            : Self.asking(target.endpoint, avoiding: plan.avoidedPorts)
        socket = box
        try poller.add(box.socket, for: isTCP ? .writing : .reading, token: token)
        switch target.kind {
        case .udpEcho: try box.socket.sendNow(Self.question(nonce))
        case .udp:
            try box.socket.sendNow(plan.payload.message(to: target.endpoint, nonce: nonce))
        case .tcp, .icmp: break
        }
    }

    /// A socket whose port no kernel-mode listener serves, since that would take the reply.
    private static func asking(
        _ endpoint: Endpoint, avoiding ports: Set<UInt16>
    ) throws(SystemError) -> SocketBox {
        // The kernel chooses ports at random; keeping the previous ones makes it choose others.
        var avoided: [SocketBox] = []
        while true {
            let box = SocketBox(try Socket.asking(endpoint))
            guard !ports.isEmpty else { return box }
            let port = try box.socket.boundPort
            guard ports.contains(port) else { return box }
            avoided.append(box)
        }
    }

    /// The datagram that `udp_echo` sends and expects back.
    static func question(_ nonce: UInt64) -> [UInt8] {
        let digits = String(nonce, radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.utf8.count)
        return Array("udp-fanout probe \(zeros)\(digits)\n".utf8)
    }

    /// Checks the socket for a result.
    ///
    /// - Returns: the result of the probe; nil while there is none.
    func outcome(_ buffer: inout [UInt8]) -> (result: ProbeResult, detail: String)? {
        guard let socket else { return nil }
        if target.kind == .tcp {
            guard let error = socket.socket.connectionError else { return (.success, "") }
            return (error.answer, error.description)
        }
        while true {
            let count: Int
            do throws(SystemError) {
                guard let received = try socket.socket.receiveNow(into: &buffer) else { return nil }
                count = received.count
            } catch {
                return (error.answer, error.description)
            }
            if target.kind == .udp { return (.success, "") }
            if buffer[..<count].elementsEqual(Self.question(nonce)) { return (.success, "") }
            wrongAnswers += 1
            if wrongAnswers == Self.wrongAnswersMax { return (.wrongAnswer, "") }
        }
    }

    /// The result of a timeout.
    var silence: ProbeResult {
        guard expectsReply else { return .success }
        return wrongAnswers > 0 ? .wrongAnswer : .timeout
    }
}

/// A reference to a socket, for use where a noncopyable value cannot be stored.
final class SocketBox: Sendable {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
}
