// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet

/// Raw packets from sources that do not exist, each from its own address.
final class Flood {
    /// The payload that servers of tests do not answer.
    static let word = "flood"

    private let socket: Int32
    private let target: Endpoint

    init(to target: Endpoint) throws {
        self.target = target
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        socket = Glibc.socket(AF_INET, type, Int32(IPPROTO_RAW))
        guard socket >= 0 else { throw Failed("raw socket") }
    }

    deinit { close(socket) }

    /// One datagram from each of `count` addresses, from 172.16.0.0 on.
    ///
    /// - Returns: the number that the kernel accepted.
    func send(sources count: Int) throws -> Int {
        var packet = header()
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = target.address.v4.bigEndian
        var taken = 0
        for number in 0..<count {
            let source = 0xac10_0000 + UInt32(number)
            for byte in 0..<4 {
                packet[12 + byte] = UInt8(truncatingIfNeeded: source >> UInt32(24 - 8 * byte))
            }
            let sent = withUnsafeBytes(of: &name) { raw in
                raw.withMemoryRebound(to: sockaddr.self) {
                    sendto(
                        socket, packet, packet.count, 0, $0.baseAddress, socklen_t(raw.count))
                }
            }
            if sent == packet.count { taken += 1 }
        }
        return taken
    }

    /// IPv4 and UDP without a checksum; the kernel fills in that of IPv4 (raw(7)).
    private func header() -> [UInt8] {
        let payload = Array(Self.word.utf8)
        let to = target.address.v4
        var packet: [UInt8] = [0x45, 0, 0, UInt8(28 + payload.count), 0, 0, 0, 0, 64, 17, 0, 0]
        packet += [0, 0, 0, 0]
        packet += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: to >> UInt32($0)) }
        packet += [0x9c, 0x40, UInt8(target.port >> 8), UInt8(target.port & 0xff)]
        return packet + [0, UInt8(8 + payload.count), 0, 0] + payload
    }
}
