// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// A socket to one receiver. It is connected, so the kernel caches the route, reports ICMP errors of only this
/// receiver, and limits only this receiver's backlog by its buffer. Replies are dropped: a listener forwards one way.
final class SendSocket: Sendable {
    let socket: Socket
    /// Whether it is a raw socket, which gets no replies.
    private let isRaw: Bool
    /// Refusals that were found outside of a send call.
    private let refusalsFound = Atomic<UInt64>(0)
    /// Replies up to the last check.
    private let replies = Atomic<UInt64>(0)

    /// The requested send buffer; the kernel caps it at `net.core.wmem_max`.
    private static let bufferBytes: Int32 = 4 << 20

    init(
        to downstream: Downstream, of listener: Listener
    ) throws(PlaneError) {
        let endpoint = downstream.endpoint
        let family = endpoint.address.nativeFamily
        do throws(SystemError) {
            let raw = listener.preserveSource
            isRaw = raw
            let type = raw ? SOCK_RAW : SOCK_DGRAM
            socket = try Socket(
                family: family, type: Int32(type.rawValue),
                protocol: raw ? Int32(IPPROTO_UDP) : 0)
            if raw {
                try socket.becomeTransparent(family: family)
            } else {
                // Without it, replies fill the receive buffer, which costs only memory.
                try? socket.refuseInput()
            }
            try? socket.requestSendBuffer(bytes: Self.bufferBytes)
            try Self.connect(socket, to: raw ? Endpoint(endpoint.address, port: 0) : endpoint)
        } catch {
            throw PlaneError(opening: error, downstream: downstream, of: listener)
        }
    }

    /// Refusals that no send call reported: those after the last datagram. Only the plane calls it.
    var lateRefusals: UInt64 {
        guard !isRaw else { return 0 }
        let isRefused = isRefusal(socket.takeError())
        return refusalsFound.wrappingAdd(isRefused ? 1 : 0, ordering: .relaxed).newValue
    }

    /// Datagrams of the receiver that the kernel has dropped here. Only the plane calls it.
    ///
    /// The kernel counts with 32 bits, which 10 000 replies a second exhaust in five days.
    var repliesDropped: UInt64 {
        guard !isRaw else { return 0 }
        let known = replies.load(ordering: .relaxed)
        let now = UInt32(truncatingIfNeeded: socket.kernelDrops)
        let sum = known &+ UInt64(now &- UInt32(truncatingIfNeeded: known))
        replies.store(sum, ordering: .relaxed)
        return sum
    }

    /// A missing route does not refuse a configuration: the worker retries with every batch, and counts `unreachable`
    /// until there is one.
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

/// Whether an errno on a connected socket can come from an ICMP error about an earlier datagram which means that no
/// datagram gets through (kernel: `icmp_err_convert`, `tab_unreach` of IPv6; the fatal ones).
@_noLocks @_noAllocation
func isRefusal(_ code: Int32) -> Bool {
    switch code {
    case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENONET, ENOPROTOOPT, EACCES: true
    default: false
    }
}

/// One worker's link to one receiver: the socket, and the row of its counters.
final class DownstreamLink: Sendable {
    let socket: SendSocket
    let counters = CounterRow()
    /// Whether this link has the counters of the socket, rather than another worker with the same socket.
    private let ownsSocket: Bool

    init(_ socket: SendSocket, ownsSocket: Bool = true) {
        self.socket = socket
        self.ownsSocket = ownsSocket
    }

    deinit { counters.free() }

    /// Its forwarded datagrams and replies.
    var sums: ReceiverSums {
        var sums = ReceiverSums(counters)
        if ownsSocket {
            sums.refusals &+= socket.lateRefusals
            sums.repliesDropped = socket.repliesDropped
        }
        return sums
    }

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
