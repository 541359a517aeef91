// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Workers

/// A socket that leads to one receiver. It is connected, so the kernel remembers the route, reports
/// what ICMP says of this receiver and of no other, and holds this receiver's backlog against this
/// receiver's buffer alone.
final class SendSocket: Sendable {
    let socket: Socket

    /// What a sender asks for; the kernel caps it at `net.core.wmem_max`.
    private static let bufferBytes: Int32 = 4 << 20

    init(
        to downstream: Downstream, of listener: Listener
    ) throws(PlaneError) {
        let endpoint = downstream.endpoint
        let family = endpoint.address.nativeFamily
        do throws(SystemError) {
            let raw = listener.preserveSource
            let type = raw ? SOCK_RAW : SOCK_DGRAM
            socket = try Socket(
                family: family, type: Int32(type.rawValue),
                protocol: raw ? Int32(IPPROTO_UDP) : 0)
            if raw { try socket.becomeTransparent(family: family) }
            try? socket.requestSendBuffer(bytes: Self.bufferBytes)
            try Self.connect(socket, to: raw ? Endpoint(endpoint.address, port: 0) : endpoint)
        } catch {
            throw PlaneError(opening: error, downstream: downstream, of: listener)
        }
    }

    /// No route at this moment is no reason to refuse a configuration: the worker tries again with
    /// every batch, and counts `unreachable` until there is one.
    private static func connect(
        _ socket: borrowing Socket, to endpoint: Endpoint
    ) throws(SystemError) {
        do {
            try socket.connect(to: endpoint)
        } catch {
            let passes = [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EINVAL].contains(error.code)
            if !passes { throw error }
        }
    }
}

/// One worker's way to one receiver: the socket, and the row of what went through it.
final class DownstreamLink: Sendable {
    let socket: SendSocket
    let counters = CounterRow()

    init(_ socket: SendSocket) { self.socket = socket }

    deinit { counters.free() }

    func target(for downstream: Downstream, of listener: Listener) throws(PlaneError) -> Target {
        let endpoint = downstream.endpoint
        do throws(SystemError) {
            let name = try Endpoint(
                endpoint.address, port: listener.preserveSource ? 0 : endpoint.port
            ).native
            return Target(
                descriptor: socket.socket.descriptor, preservesSource: listener.preserveSource,
                isIPv6: endpoint.address.family == .v6, address: endpoint.address.datapath,
                port: endpoint.port, name: name, counters: counters)
        } catch {
            throw PlaneError(opening: error, downstream: downstream, of: listener)
        }
    }
}
