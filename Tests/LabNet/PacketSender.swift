// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
import Glibc

/// A raw socket that sends IP packets unchanged, in the network of the thread that made it.
public final class PacketSender: Sendable {
    private let socket: Int32
    private let isV4: Bool

    public init(_ family: IPAddress.Family) throws {
        isV4 = family == .v4
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        socket = Glibc.socket(isV4 ? AF_INET : AF_INET6, type, Int32(IPPROTO_RAW))
        guard socket >= 0 else { throw Failed("raw socket") }
    }

    deinit { close(socket) }

    /// Sends fragment `index` of a datagram.
    public func send(_ index: Int, of datagram: FragmentedDatagram) throws {
        let packet = datagram.packets[index]
        let bytes = datagram.destination.address.wire
        let sent: Int
        if isV4 {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            withUnsafeMutableBytes(of: &name.sin_addr) { $0.copyBytes(from: bytes) }
            sent = send(packet, &name)
        } else {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            withUnsafeMutableBytes(of: &name.sin6_addr) { $0.copyBytes(from: bytes) }
            sent = send(packet, &name)
        }
        guard sent == packet.count else { throw Failed("send a fragment") }
    }

    private func send<Name>(_ packet: [UInt8], _ name: inout Name) -> Int {
        withUnsafeBytes(of: &name) { raw in
            raw.withMemoryRebound(to: sockaddr.self) {
                sendto(socket, packet, packet.count, 0, $0.baseAddress, socklen_t(raw.count))
            }
        }
    }
}
