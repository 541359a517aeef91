// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet

/// A socket that sends datagrams.
final class Outlet: Sendable {
    let socket: Socket

    /// Longest wait for room in the send buffer. A full buffer slows the run down; datagrams fail with EAGAIN only
    /// when the queue does not move at all.
    private static let patienceMilliseconds = 100
    /// Requested send buffer; the kernel caps it at `net.core.wmem_max`.
    private static let bufferBytes: Int32 = 4 << 20

    /// - Parameters:
    ///   - source: the address to bind; nil: the kernel's choice.
    ///   - peer: the address to connect to; nil: none.
    init(family: Int32, source: IPAddress?, peer: Endpoint?) throws(SystemError) {
        socket = try Socket(family: family, type: Int32(SOCK_DGRAM.rawValue))
        try socket.limitSending(milliseconds: Self.patienceMilliseconds)
        try? socket.requestSendBuffer(bytes: Self.bufferBytes)
        if let source { try socket.bind(to: Endpoint(source, port: 0)) }
        if let peer { try socket.connect(to: peer) }
    }
}

/// Why a run cannot begin: the cause and a remedy.
struct StartError: Error, Equatable, CustomStringConvertible {
    let description: String
}

extension Plan {
    /// Opens the sockets of worker `number`.
    func outlets(of number: Int) throws(StartError) -> [Outlet] {
        let share = share(of: number)
        let family = destination.address.nativeFamily
        var outlets: [Outlet] = []
        do throws(SystemError) {
            if !isConnected {
                return [try Outlet(family: family, source: nil, peer: nil)]
            }
            for index in share.sourceIndices {
                let source = sources.isEmpty ? nil : zoned(sources[index])
                outlets.append(try Outlet(family: family, source: source, peer: destination))
            }
        } catch {
            throw StartError(description: "open a socket to \(destination): \(error)")
        }
        return outlets
    }

    /// Checks that every source is an address of this host with a route to the destination.
    ///
    /// - Returns: the source of the first datagram.
    func checkedSource() throws(StartError) -> IPAddress {
        if sources.isEmpty { return try probe(from: nil) }
        for source in sources { _ = try probe(from: source) }
        return sources[0]
    }

    private func probe(from source: IPAddress?) throws(StartError) -> IPAddress {
        do throws(SystemError) {
            let socket = try Socket(
                family: destination.address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
            if let source { try socket.bind(to: Endpoint(zoned(source), port: 0)) }
            try socket.connect(to: destination)
            return try socket.boundAddress
        } catch {
            throw StartError(description: explain(error, source))
        }
    }

    private func explain(_ error: SystemError, _ source: IPAddress?) -> String {
        guard error.operation == "bind", let source else {
            let from = source.map { " from \($0)" } ?? ""
            return "\(destination)\(from) cannot be reached: \(error); see: ip route get "
                + "\(destination.address)" + (source.map { " from \($0)" } ?? "")
        }
        let what = "--sources: \(source) is not an address of this host (\(error)); "
        if source.family == .v4 {
            return what + "add it with: ip addr add \(source)/32 dev lo; or a whole block with: "
                + "ip route add local BLOCK dev lo"
        }
        return what + "add it with: ip addr add \(source)/128 dev lo; or a whole block with: "
            + "ip -6 route add local BLOCK dev lo, and sysctl -w net.ipv6.ip_nonlocal_bind=1, "
            + "without which IPv6 sends only from addresses that an interface has"
    }

    /// The source with the zone of the destination's interface, if it is link-local.
    private func zoned(_ source: IPAddress) -> IPAddress {
        guard source.isLinkLocal else { return source }
        return IPAddress(high: source.high, low: source.low, zone: destination.address.zone)
    }
}
