// SPDX-License-Identifier: Apache-2.0

import CNet
import FanoutCore
import Glibc
import LabNet
import LinuxNet

/// Sends frames unchanged through a packet socket (packet(7)).
final class FrameSender {
    private let socket: Socket

    /// - Parameter interface: in the network of the calling thread.
    init(on interface: String) throws {
        socket = try Socket(family: AF_PACKET, type: Int32(SOCK_RAW.rawValue))
        // struct sockaddr_ll: family, protocol, interface; a sender leaves the rest zero.
        var name = [UInt8](repeating: 0, count: 20)
        name.withUnsafeMutableBytes {
            $0.storeBytes(of: UInt16(AF_PACKET), as: UInt16.self)
            $0.storeBytes(of: Int32(if_nametoindex(interface)), toByteOffset: 4, as: Int32.self)
        }
        let result = name.withUnsafeBytes {
            bind(
                socket.descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), 20)
        }
        guard result == 0 else { throw SystemError("bind", code: errno) }
    }

    func send(_ frame: [UInt8]) throws {
        let sent = Glibc.send(socket.descriptor, frame, frame.count, 0)
        guard sent == frame.count else { throw SystemError("send", code: errno) }
    }

    /// A frame with an IPv4 datagram without a UDP checksum.
    ///
    /// - Parameter tag: the priority and VLAN of a tag; nil for none.
    static func frame(
        to mac: [UInt8], from source: Endpoint, to destination: Endpoint, _ payload: [UInt8],
        timeToLive: UInt8 = 64, tag: UInt16? = nil
    ) -> [UInt8] {
        let length = UInt16(28 + payload.count)
        var header: [UInt8] = [0x45, 0] + word(length) + [0, 1, 0, 0, timeToLive, 17, 0, 0]
        for address in [source.address.v4, destination.address.v4] {
            header += word(UInt16(address >> 16)) + word(UInt16(truncatingIfNeeded: address))
        }
        var sum = stride(from: 0, to: 20, by: 2).reduce(UInt32(0)) {
            $0 + UInt32(header[$1]) << 8 + UInt32(header[$1 + 1])
        }
        while sum >> 16 != 0 { sum = sum & 0xffff + sum >> 16 }
        header.replaceSubrange(10..<12, with: word(~UInt16(sum)))
        let udp = word(source.port) + word(destination.port) + word(length - 20) + [0, 0]
        let type: [UInt8] = (tag.map { [0x81, 0] + word($0) } ?? []) + [8, 0]
        let frame = mac + [2, 0, 0, 0, 0, 1] + type + header + udp + payload
        return frame + [UInt8](repeating: 0, count: max(0, 60 - frame.count))
    }

    private static func word(_ value: UInt16) -> [UInt8] {
        [UInt8(value >> 8), UInt8(value & 255)]
    }
}
