// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import CNet
internal import Glibc

/// A socket to the kernel's routing tables (rtnetlink(7)) or to another of its netlink families, in the network
/// namespace of the thread that made it.
@safe
struct NetlinkSocket: ~Copyable, @unchecked Sendable {
    // SAFETY: open from init to deinit. libmnl writes to it in mnl_socket_bind only, which init
    // calls, so any thread may use it; the calls below are one system call each.
    private let handle: OpaquePointer

    /// The maximum size of one reply: the kernel fits dumps into 32 KiB (net/netlink/af_netlink.c).
    private static let answerBytes = 32 << 10
    /// More than ever wait to be read.
    private static let mostAnswers = 1 << 16

    /// - Parameters:
    ///   - groups: bits of the RTNLGRP_* whose notifications arrive here, the first at bit 0.
    ///   - waits: whether `receive` blocks.
    ///   - bus: NETLINK_ROUTE or NETLINK_GENERIC.
    init(
        groups: UInt32 = 0, waits: Bool = true, bus: Int32 = NETLINK_ROUTE
    ) throws(NetlinkError) {
        let flags = Int32(SOCK_CLOEXEC.rawValue) | (waits ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        guard let handle = unsafe mnl_socket_open2(bus, flags) else {
            throw Self.error("open", Glibc.errno)
        }
        guard unsafe mnl_socket_bind(handle, groups, 0) == 0 else {
            let code = Glibc.errno
            _ = unsafe mnl_socket_close(handle)
            throw Self.error("bind", code)
        }
        // Optional features of newer kernels: a message with an error (Linux 4.12), the neighbours of one interface
        // instead of all (Linux 4.20).
        for option in [NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK] {
            var on: Int32 = 1
            _ = unsafe mnl_socket_setsockopt(
                handle, option, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        unsafe self.handle = handle
    }

    deinit { _ = unsafe mnl_socket_close(handle) }

    var descriptor: Int32 { unsafe mnl_socket_get_fd(handle) }

    /// The port id of this socket in the kernel's replies.
    var port: UInt32 { unsafe mnl_socket_get_portid(handle) }

    /// Requests a buffer for unread notifications.
    ///
    /// - Returns: the size that the kernel granted, with its overhead, in bytes.
    func setReceiveBuffer(bytes: Int32) throws(NetlinkError) -> Int {
        var granted: Int32 = 0
        let result = unsafe cnet_set_receive_buffer(descriptor, bytes, &granted)
        guard result >= 0 else { throw Self.error("size", -result) }
        return Int(granted)
    }

    /// Joins a multicast group whose number is too high for a bit of `groups`.
    func join(_ group: UInt32) throws(NetlinkError) {
        var group = group
        // SAFETY: the kernel reads the number before the call returns.
        let result = unsafe mnl_socket_setsockopt(
            handle, NETLINK_ADD_MEMBERSHIP, &group, socklen_t(MemoryLayout<UInt32>.size))
        guard result == 0 else { throw Self.error("join a group with", Glibc.errno) }
    }

    func send(_ message: ArraySlice<UInt8>) throws(NetlinkError) {
        // SAFETY: the kernel reads as many bytes as the buffer has.
        let sent = unsafe message.withUnsafeBytes {
            unsafe mnl_socket_sendto(handle, $0.baseAddress, $0.count)
        }
        guard sent >= 0 else { throw Self.error("write to", Glibc.errno) }
    }

    /// The messages of one datagram.
    ///
    /// - Throws: `NetlinkError` EAGAIN when there is nothing to read and the socket does not block; ENOBUFS when the
    ///   kernel had to drop notifications; ENOSPC when a datagram was truncated.
    func receive() throws(NetlinkError) -> [NetlinkMessage] {
        let result: Result<[NetlinkMessage], NetlinkError> = unsafe withUnsafeTemporaryAllocation(
            byteCount: Self.answerBytes, alignment: MemoryLayout<nlmsghdr>.alignment
        ) { buffer in
            var count: Int
            // SAFETY: the kernel writes no more than the buffer's count.
            repeat {
                count = unsafe mnl_socket_recvfrom(handle, buffer.baseAddress, buffer.count)
            } while count < 0 && Glibc.errno == EINTR
            guard count >= 0 else { return .failure(Self.error("read from", Glibc.errno)) }
            return unsafe .success(
                Self.messages(in: UnsafeRawBufferPointer(rebasing: buffer[..<count])))
        }
        return try result.get()
    }

    /// Discards the received replies to abandoned requests.
    ///
    /// After a loss the kernel adds nothing to a socket until it is empty, and reports the loss once: the reply to the
    /// next request would never arrive (`netlink_overrun`, `netlink_rcv_wake` in net/netlink/af_netlink.c).
    func drain() {
        // Each reply uses more of the buffer than its bytes, so there are never as many.
        for _ in 0..<Self.mostAnswers {
            if recv(descriptor, nil, 0, Int32(MSG_DONTWAIT)) < 0,
                Glibc.errno == EAGAIN
            {
                return
            }
        }
    }

    private static func messages(in buffer: UnsafeRawBufferPointer) -> [NetlinkMessage] {
        guard let base = buffer.baseAddress else { return [] }
        var messages: [NetlinkMessage] = []
        var left = Int32(buffer.count)
        // SAFETY: mnl_nlmsg_ok checks that a message ends within the count that is left before
        // anything is read; the payload is copied.
        var header = unsafe base.assumingMemoryBound(to: nlmsghdr.self)
        while unsafe mnl_nlmsg_ok(header, left) {
            let body = unsafe UnsafeRawBufferPointer(
                start: mnl_nlmsg_get_payload(header), count: mnl_nlmsg_get_payload_len(header))
            let fields = unsafe header.pointee
            messages.append(
                NetlinkMessage(
                    type: Int32(fields.nlmsg_type), flags: Int32(fields.nlmsg_flags),
                    sequence: fields.nlmsg_seq, port: fields.nlmsg_pid, body: unsafe Array(body)))
            guard let next = unsafe mnl_nlmsg_next(header, &left) else { break }
            unsafe header = UnsafePointer(next)
        }
        return messages
    }

    private static func error(_ operation: String, _ code: Int32) -> NetlinkError {
        NetlinkError(operation: operation, subject: "the netlink socket", errno: code)
    }
}
