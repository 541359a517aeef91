// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// The socket for all echo messages of one family. One socket serves all targets: a raw socket gets every echo
/// reply to the host, so one per target would cost O(n²).
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

    /// The next reply and its source; nil if there is none. Skips other messages.
    func reply(_ buffer: inout [UInt8]) -> (message: EchoMessage, source: IPAddress)? {
        while true {
            let received: (count: Int, source: IPAddress)?
            do throws(SystemError) {
                received = try socket.receiveNow(into: &buffer)
            } catch {
                // An error of an earlier request; its probe times out. The poller returns if more is queued.
                return nil
            }
            guard let received else { return nil }
            let message = EchoMessage(
                reply: buffer[..<received.count], family, hasIPHeader: isRaw && family == .v4)
            if let message { return (message, received.source) }
        }
    }
}

/// An ICMP or ICMPv6 echo message of ours (RFC 792 page 14, RFC 4443 section 4): the header is followed by a number
/// that identifies the probe, and a secret nonce.
struct EchoMessage: Equatable {
    let token: UInt64
    let nonce: UInt64

    private static let headerBytes = 8
    private static let bytes = headerBytes + 16

    /// The request. A ping socket sets its own identifier, and every kind of socket except a raw IPv4 one its own
    /// checksum.
    func request(_ family: IPAddress.Family, identifier: UInt16) -> [UInt8] {
        var message: [UInt8] = [family == .v4 ? 8 : 128, 0, 0, 0]
        message += identifier.networkBytes
        message += UInt16(truncatingIfNeeded: token).networkBytes
        message += token.networkBytes + nonce.networkBytes
        let sum = Self.checksum(message).networkBytes
        (message[2], message[3]) = (sum[0], sum[1])
        return message
    }

    init(token: UInt64, nonce: UInt64) {
        self.token = token
        self.nonce = nonce
    }

    /// Parses a reply; nil if it is none, or cannot be a reply to a request of ours.
    ///
    /// - Parameter hasIPHeader: whether the IPv4 header precedes it, as on raw sockets.
    init?(reply bytes: ArraySlice<UInt8>, _ family: IPAddress.Family, hasIPHeader: Bool) {
        var rest = bytes
        if hasIPHeader {
            guard let first = rest.first else { return nil }
            rest = rest.dropFirst(Int(first & 0xf) * 4)
        }
        guard rest.count == Self.bytes, rest.first == (family == .v4 ? 0 : 129) else { return nil }
        let words = rest.dropFirst(Self.headerBytes)
        self.init(
            token: UInt64(networkBytes: words.prefix(8)),
            nonce: UInt64(networkBytes: words.suffix(8)))
    }

    /// The Internet checksum (RFC 1071) of an even number of bytes.
    static func checksum(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            sum += UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
        }
        while sum > 0xffff { sum = sum & 0xffff + sum >> 16 }
        return ~UInt16(truncatingIfNeeded: sum)
    }
}

extension FixedWidthInteger {
    fileprivate var networkBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: self >> $0)
        }
    }
}

extension UInt64 {
    fileprivate init(networkBytes bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// Hosts on directly connected links that do not answer ARP. Datagrams to them are lost, though every send
/// succeeds. The kernel reports this only after three seconds; a probe that counts silence as success may have
/// ended several times by that time.
///
/// IPv4 only: every process can read the kernel's ARP table (proc(5), /proc/net/arp); IPv6 needs netlink.
struct SilentNeighbours {
    private var addresses: Set<IPAddress> = []
    private var lookedAt: Int64?
    /// How long one read of the table is valid, nanoseconds.
    private static let period: Int64 = 500_000_000

    /// - Parameter now: of `MonotonicClock`.
    mutating func contains(_ address: IPAddress, _ now: Int64) -> Bool {
        guard address.family == .v4 else { return false }
        if lookedAt.map({ now - $0 >= Self.period }) ?? true {
            lookedAt = now
            // Of the thread's own network namespace: the process may have threads in several.
            let table = try? SmallFile.bytes(of: "/proc/thread-self/net/arp")
            addresses = Self.silent(String(decoding: table ?? [], as: UTF8.self))
        }
        return addresses.contains(address)
    }

    /// The addresses of a table that have no flags (arp(7)).
    static func silent(_ table: String) -> Set<IPAddress> {
        Set(
            table.split(separator: "\n").dropFirst().compactMap { line in
                let words = line.split(separator: " ")
                return words.count > 2 && words[2] == "0x0" ? IPAddress(words[0]) : nil
            })
    }
}
