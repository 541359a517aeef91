// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL

/// A message to the kernel: a header, the fixed header of its type, attributes.
struct NetlinkRequest {
    /// Larger than any request of this module.
    private static let room = 256
    private var bytes = [UInt8](repeating: 0, count: room)
    let isDump: Bool

    /// - Parameters:
    ///   - kind: RTM_GET*.
    ///   - dump: requests the whole table.
    init(_ kind: Int, _ header: some BitwiseCopyable, dump: Bool = false) {
        isDump = dump
        unsafe edit { message in
            unsafe message.pointee.nlmsg_type = UInt16(kind)
            unsafe message.pointee.nlmsg_flags = UInt16(
                NLM_F_REQUEST | (dump ? NLM_F_ROOT | NLM_F_MATCH : 0))
            // SAFETY: libmnl makes room of that size, and the buffer has more.
            let place = unsafe mnl_nlmsg_put_extra_header(
                message, MemoryLayout.size(ofValue: header))
            unsafe place?.storeBytes(of: header, as: type(of: header))
        }
    }

    /// A message that requests a change, with an acknowledgement.
    ///
    /// - Parameters:
    ///   - kind: RTM_NEW*, RTM_DEL*.
    ///   - flags: NLM_F_CREATE and the like.
    init(changing kind: Int, _ header: some BitwiseCopyable, flags: Int32) {
        self.init(kind, header)
        unsafe edit { unsafe $0.pointee.nlmsg_flags |= UInt16(NLM_F_ACK | flags) }
    }

    /// Adds an attribute.
    mutating func add(_ type: Int, _ payload: [UInt8]) {
        unsafe edit { message in
            // SAFETY: libmnl copies the payload, and refuses what the buffer has no room for.
            let fits = unsafe mnl_attr_put_check(
                message, Self.room, UInt16(type), payload.count, payload)
            precondition(fits, "a netlink request of more than \(Self.room) bytes")
        }
    }

    mutating func add(_ type: Int, _ value: UInt32) { add(type, [UInt8](of: value)) }

    /// The message to send.
    func numbered(_ sequence: UInt32) -> ArraySlice<UInt8> {
        var copy = self
        var length = 0
        unsafe copy.edit { message in
            unsafe message.pointee.nlmsg_seq = sequence
            length = unsafe Int(message.pointee.nlmsg_len)
        }
        return copy.bytes[..<length]
    }

    private mutating func edit(_ body: (UnsafeMutablePointer<nlmsghdr>) -> Void) {
        unsafe bytes.withUnsafeMutableBytes { raw in
            guard let base = raw.baseAddress else { return }
            let message = unsafe base.assumingMemoryBound(to: nlmsghdr.self)
            // A message that is still empty gets its header, which is all zeros but for the length.
            if unsafe message.pointee.nlmsg_len == 0 { unsafe _ = mnl_nlmsg_put_header(base) }
            unsafe body(message)
        }
    }
}

/// The reply to one request, collected from the messages that arrive (netlink(7)).
struct Answer {
    /// The number of the request.
    let sequence: UInt32
    /// The port of the requesting socket.
    let port: UInt32
    /// Whether a whole table was requested.
    let isDump: Bool
    /// The messages so far, in order.
    private(set) var messages: [NetlinkMessage] = []
    private var isConsistent = true

    init(sequence: UInt32, port: UInt32, isDump: Bool = false) {
        self.sequence = sequence
        self.port = port
        self.isDump = isDump
    }

    enum Progress: Equatable {
        /// The end has not arrived yet.
        case more
        case whole
        /// Complete, but the table changed during the dump, so entries may be missing.
        case inconsistent
        /// The kernel's errno, above 0, and its message if there is one.
        case refused(Int32, String?)
    }

    mutating func take(_ message: NetlinkMessage) -> Progress {
        // Replies to an abandoned request have another number.
        guard message.sequence == sequence, message.port == port else { return .more }
        if message.flags & NLM_F_DUMP_INTR != 0 { isConsistent = false }
        switch message.type {
        case NLMSG_NOOP:
            return .more
        case NLMSG_DONE, NLMSG_ERROR:
            let (errno, detail) = message.outcome
            if errno != 0 { return .refused(errno, detail) }
        default:
            messages.append(message)
            // The family netdev omits the flag (Linux 6.18), but not the message that ends a table.
            if isDump || message.flags & NLM_F_MULTI != 0 { return .more }
        }
        return isConsistent ? .whole : .inconsistent
    }
}
