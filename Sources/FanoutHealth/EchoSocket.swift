// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// The socket that all echo messages of one family go through. One does for all targets: a raw socket
/// gets every echo reply that comes to the host, so that many of them would cost the square.
final class EchoSocket: Sendable {
    let family: IPAddress.Family
    private let socket: Socket
    private let isRaw: Bool
    private let identifier = UInt16.random(in: 1...0xffff)

    init(_ family: IPAddress.Family) throws(HealthError) {
        self.family = family
        if let ping = try? Socket.ping(family) {
            socket = ping
            isRaw = false
            return
        }
        do throws(SystemError) {
            socket = try Socket.rawPing(family)
            isRaw = true
        } catch {
            throw HealthError(
                operation: "open", subject: "an ICMP socket for \(family.rawValue)",
                code: error.code, reason: error.reason,
                remedy: "widen net.ipv4.ping_group_range to a group of the daemon, give it "
                    + "CAP_NET_RAW, or write health.protocol: udp_echo, udp or tcp")
        }
    }

    func wait(in poller: Poller, token: UInt64) throws(SystemError) {
        try poller.add(socket, for: .reading, token: token)
    }

    func send(_ message: EchoMessage, to address: IPAddress) throws(SystemError) {
        try socket.sendNow(
            message.request(family, identifier: identifier), to: Endpoint(address, port: 0))
    }

    /// The next reply that has come, and from where; nil when there is none. What is no reply is passed
    /// over.
    func reply(_ buffer: inout [UInt8]) -> (message: EchoMessage, source: IPAddress)? {
        while true {
            let received: (count: Int, source: IPAddress)?
            do throws(SystemError) {
                received = try socket.receiveNow(into: &buffer)
            } catch {
                // An error of an earlier request, which its probe learns by the lack of an answer. The
                // poller comes back if there is more.
                return nil
            }
            guard let received else { return nil }
            let message = EchoMessage(
                reply: buffer[..<received.count], family, hasIPHeader: isRaw && family == .v4)
            if let message { return (message, received.source) }
        }
    }
}
