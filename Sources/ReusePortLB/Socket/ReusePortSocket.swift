// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import CReusePortLB
internal import Glibc

/// A socket that can become a member of a group: a UDP socket made here, or one that the caller made,
/// which may be a TCP listener.
///
/// Memberships and sequences of datagrams keep it open after this value is gone.
public struct ReusePortSocket: ~Copyable, Sendable {
    let handle: SocketHandle

    /// Creates a UDP socket with SO_REUSEPORT and binds it. It is blocking and in no slot yet; but while the group has
    /// no live member, the kernel may deliver datagrams to it.
    ///
    /// - Parameters:
    ///   - endpoint: an address of this host or a wildcard. `[::]` also receives IPv4 unless net.ipv6.bindv6only is
    ///     set.
    ///   - receiveBuffer: bytes for SO_RCVBUF, uncapped with CAP_NET_ADMIN; nil for the system's default.
    ///     ``receiveBuffer`` has the granted size.
    /// - Throws: `.addressInUse` when a socket without SO_REUSEPORT or of another uid has the address; else with the
    ///   errno of socket(2) or bind(2).
    public init(
        boundTo endpoint: Endpoint, receiveBuffer: Int? = nil
    ) throws(ReusePortError) {
        var descriptor: Int32 = -1
        let bytes = Int32(clamping: receiveBuffer ?? 0)
        let result = unsafe try endpoint.withNative { address, length in
            unsafe rplb_socket_udp(address, length, bytes, &descriptor)
        }
        try check(result, "bind a UDP socket to", "\(endpoint)", RPLB_CALL_SOCKET)
        handle = SocketHandle(owning: descriptor)
    }

    /// Takes over a bound UDP socket or a TCP listener. It is closed when this value, its memberships and
    /// its sequences are gone.
    public init(adopting descriptor: Int32) {
        handle = SocketHandle(owning: descriptor)
    }

    /// Open as long as this value lives; do not close it.
    public var descriptor: Int32 { handle.descriptor }

    /// The address that the socket is bound to; nil when it is not bound.
    public var endpoint: Endpoint? { handle.endpoint }

    /// The kernel's number of the socket (SO_COOKIE), the same as ``Member/cookie``.
    public var cookie: UInt64 { handle.cookie }

    /// Bytes of memory that waiting datagrams may use, in the unit of ``init(boundTo:receiveBuffer:)``: half of what
    /// getsockopt(2) reports (socket(7), SO_RCVBUF).
    public var receiveBuffer: Int { Int(handle.option(SO_RCVBUF, as: Int32.self) ?? 0) / 2 }

    /// Datagrams that the kernel has dropped at this socket, mostly because the buffer was full (SO_MEMINFO,
    /// SK_MEMINFO_DROPS; Linux 4.12). It wraps around after 2^32.
    public var kernelDrops: UInt64 { UInt64(max(0, cnet_socket_drops(handle.descriptor))) }

    /// Lets the kernel merge, stamp or count for ``receive(into:atMost:waits:)`` and for sequences of datagrams. It
    /// cannot be undone.
    ///
    /// - Throws: with the errno of setsockopt(2).
    public borrowing func prepare(_ options: ReceiveOptions) throws(ReusePortError) {
        try check(
            rplb_socket_prepare(descriptor, options.rawValue), "prepare",
            endpoint.map { "the socket at \($0)" } ?? "a socket", RPLB_CALL_SOCKET)
    }

    /// Ends a wait in ``receive(into:atMost:waits:)``, now and in every later call once the queue is empty; sequences
    /// of datagrams end then too. The queue can still be read. May be called from any thread.
    public borrowing func wakeReceiver() {
        // Without a peer the kernel returns ENOTCONN but still wakes the receiver.
        _ = shutdown(handle.descriptor, Int32(SHUT_RD))
    }
}

extension ReusePortSocket {
    /// Reads the socket's queue in one recvmmsg(2). It may block its thread; a task should use
    /// ``datagrams(batch:maximumBytes:batchesAhead:)``. Allocates nothing.
    ///
    /// - Parameters:
    ///   - batch: is overwritten.
    ///   - limit: most datagrams to receive, or packets that the kernel has merged; nil: as many as the batch has room
    ///     for.
    ///   - waits: whether to wait for the first datagram. ``wakeReceiver()`` also ends the wait.
    /// - Returns: how many datagrams were received; 0 when the queue is empty or the wait was ended.
    /// - Throws: with the errno of recvmmsg(2); an interrupted call is repeated.
    @discardableResult
    public borrowing func receive(
        into batch: inout ReceiveBatch, atMost limit: Int? = nil, waits: Bool = true
    ) throws(ReusePortError) -> Int {
        let code = batch.receive(from: descriptor, atMost: limit, waits: waits)
        if code < 0 {
            let place = endpoint.map { "\($0)" } ?? "a socket"
            throw ReusePortError("receive at", place, errno: -code)
        }
        return batch.count
    }
}
