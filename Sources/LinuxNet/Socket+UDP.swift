// SPDX-License-Identifier: Apache-2.0

internal import CNet
public import FanoutCore
internal import Glibc

/// Whether a bind may share its address with other sockets.
public enum PortSharing: Sendable {
    /// No other socket may have the address, not even with SO_REUSEPORT; later sockets of this process may join.
    case exclusive
    /// Join existing sockets, which must have the same uid (socket(7), SO_REUSEPORT).
    case joining
}

extension Socket {
    /// A blocking UDP socket that can be bound to `endpoint`; `[::]` also serves IPv4, regardless of
    /// net.ipv6.bindv6only.
    public static func toListen(on endpoint: Endpoint) throws(SystemError) -> Socket {
        let address = endpoint.address
        let socket = try Socket(
            family: address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
        if address.family == .v6 {
            try socket.setOption(
                "IPV6_V6ONLY", level: Int32(IPPROTO_IPV6), IPV6_V6ONLY,
                to: address.isWildcard ? 0 : 1)
        }
        return socket
    }

    /// The same, already bound.
    public static func listening(
        on endpoint: Endpoint, sharing: PortSharing
    ) throws(SystemError) -> Socket {
        let socket = try toListen(on: endpoint)
        try socket.bind(to: endpoint, sharing: sharing)
        return socket
    }

    /// Binds the socket: from now on it may receive datagrams to `endpoint`.
    ///
    /// With `.exclusive` SO_REUSEPORT is set only after the bind. The bind then conflicts with every other socket on
    /// the address, so two daemons that start at once cannot both succeed. The kernel reads the option again when the
    /// next socket binds, so our sockets can still join.
    public func bind(to endpoint: Endpoint, sharing: PortSharing) throws(SystemError) {
        if sharing == .joining { try allowJoining() }
        try bind(to: endpoint)
        if sharing == .exclusive { try allowJoining() }
    }

    private func allowJoining() throws(SystemError) {
        try setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
    }

    /// Accepts super-packets (UDP_GRO, Linux 5.0); an older kernel delivers single datagrams.
    public func acceptSuperPackets() { _ = cnet_enable_gro(descriptor) }

    /// Reports each datagram's destination address with it.
    public func reportDestination(family: Int32) throws(SystemError) {
        try check("setsockopt IP_PKTINFO", cnet_enable_packet_information(descriptor, family))
    }

    /// Asks for a receive buffer, in bytes of memory as SO_RCVBUF counts them.
    ///
    /// - Returns: the granted size; less than `bytes` when `net.core.rmem_max` caps it and the process lacks
    ///   CAP_NET_ADMIN.
    public func requestReceiveBuffer(bytes: Int) throws(SystemError) -> Int {
        var granted: Int32 = 0
        let request = Int32(clamping: bytes)
        unsafe try check(
            "setsockopt SO_RCVBUF", cnet_set_receive_buffer(descriptor, request, &granted))
        // The kernel doubles a request for its bookkeeping (socket(7)).
        return Int(granted) / 2
    }

    public func requestSendBuffer(bytes: Int32) throws(SystemError) {
        try check("setsockopt SO_SNDBUF", cnet_set_send_buffer(descriptor, bytes))
    }

    /// Limits how long a blocking send waits for room in the send buffer; then it fails with EAGAIN (socket(7),
    /// SO_SNDTIMEO).
    ///
    /// - Parameter milliseconds: 1...999.
    public func limitSending(milliseconds: Int) throws(SystemError) {
        var time = timeval(tv_sec: 0, tv_usec: milliseconds * 1000)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe try check(
            "setsockopt SO_SNDTIMEO",
            orError(setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)))
    }

    /// Lets a raw socket send from any source address (CAP_NET_RAW), and receive nothing.
    public func becomeTransparent(family: Int32) throws(SystemError) {
        try check("setsockopt IP_TRANSPARENT", cnet_enable_transparent(descriptor, family))
        try refuseInput()
    }

    /// Makes the kernel drop every datagram to this socket before it uses memory. Each one counts in `kernelDrops`
    /// (kernel: udp_queue_rcv_one_skb). The filter does not apply to ICMP errors: a connected socket still reports them
    /// (kernel: __udp4_lib_err).
    public func refuseInput() throws(SystemError) {
        try check("setsockopt SO_ATTACH_FILTER", cnet_drop_all_input(descriptor))
    }

    /// Waits for datagrams on their way to sockets that have been turned away: afterwards these get no more datagrams
    /// than those in their queues. One call serves any number of sockets; it takes some 10 ms.
    public static func settleTurnedAway() { _ = cnet_settle() }

    /// Stops new datagrams to this bound socket, whose queue can still be read: with a peer set, the kernel delivers
    /// only the peer's datagrams. Others go to the sockets that share the port, or are refused when there is none. The
    /// socket leaves its reuseport group.
    ///
    /// - Returns: whether it worked. A wildcard address needs a loopback interface that is up.
    @discardableResult
    public func turnAway(from bound: Endpoint) -> Bool {
        let (v4, v6) = (IPAddress(v4: 0x7f00_0001), IPAddress(high: 0, low: 1))
        let peers: [IPAddress] =
            if !bound.address.isWildcard {
                [bound.address]
            } else if bound.address.family == .v4 {
                [v4]
            } else {
                // A host with IPv6 disabled still binds [::], but has no ::1.
                [v6, v4]
            }
        for peer in peers {
            // tcpmux (port 1) sends no datagrams. If the address is gone, nothing arrives anyway.
            guard (try? connect(to: Endpoint(peer, port: 1))) != nil else { continue }
            // Older kernels leave a connected socket in the group's array, where a program of the group could still
            // select it (docs/decisions/0007-steering-workers.md).
            _ = cnet_leave_group(descriptor)
            return true
        }
        return false
    }
}
