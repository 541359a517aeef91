// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import FanoutCore

/// One message from the kernel, without its header `nlmsghdr`.
struct NetlinkMessage {
    /// RTM_* or NLMSG_*.
    let type: Int32
    /// NLM_F_*.
    let flags: Int32
    /// The number of the request; 0 in a notification.
    let sequence: UInt32
    /// The port of the requesting socket; 0 in a notification.
    let port: UInt32
    let body: [UInt8]

    /// The fixed header of this type of message, such as `ifinfomsg`, and the attributes after it; nil when the message
    /// is shorter than that.
    func parts<Header: BitwiseCopyable>(_ type: Header.Type) -> (Header, Attributes)? {
        guard let header = body.read(type) else { return nil }
        return (header, Attributes(in: body, behind: MemoryLayout<Header>.size))
    }

    /// The result in NLMSG_ERROR, or in NLMSG_DONE at the end of a dump: an errno above 0, or 0 for success, and the
    /// kernel's message (linux/netlink.h, `nlmsgerr`).
    var outcome: (errno: Int32, detail: String?) {
        let code = -(body.read(Int32.self) ?? 0)
        guard flags & NLM_F_ACK_TLVS != 0 else { return (code, nil) }
        var behind = MemoryLayout<Int32>.size
        if type == NLMSG_ERROR {
            // The request follows the code: only its header, or all of it.
            let request = body.read(nlmsghdr.self, at: behind)
            let isCapped = flags & NLM_F_CAPPED != 0
            behind += isCapped ? MemoryLayout<nlmsghdr>.size : Int(request?.nlmsg_len ?? 0)
        }
        let attributes = Attributes(in: body, behind: behind)
        return (code, attributes.text(Int(NLMSGERR_ATTR_MSG.rawValue)))
    }
}

/// The attributes of a netlink message, or those nested in one of them, by number (netlink(7)). Of several with one
/// number the last counts. Truncated ones are left out.
///
/// They are parsed on demand: most attributes of a route's reply, of which thousands are read at a time, are not used.
struct Attributes {
    private let bytes: [UInt8]
    private let start: Int

    /// The attributes in `bytes` after a fixed header.
    init(in bytes: [UInt8], behind header: Int = 0) {
        self.bytes = bytes
        start = (header + 3) & ~3
    }

    subscript(type: Int) -> [UInt8]? { unsafe payload(type) { unsafe Array($0) } }

    /// Applies `read` to an attribute's bytes, which are valid while it runs.
    private func payload<Value>(
        _ type: Int, _ read: (UnsafeRawBufferPointer) -> Value?
    ) -> Value? {
        // SAFETY: an array of bytes starts at a multiple of 16 and `start` is one of 4, as nlattr
        // asks. mnl_attr_ok checks that an attribute ends within the count that is left before
        // anything but its header is read, and the header only when 4 bytes are left.
        unsafe bytes.withUnsafeBytes { raw in
            var found: UnsafeRawBufferPointer?
            var place = start
            while place < raw.count, let base = raw.baseAddress {
                let attribute = unsafe (base + place).assumingMemoryBound(to: nlattr.self)
                guard unsafe mnl_attr_ok(attribute, Int32(raw.count - place)) else { break }
                if unsafe Int(mnl_attr_get_type(attribute)) == type {
                    unsafe found = UnsafeRawBufferPointer(
                        start: mnl_attr_get_payload(attribute),
                        count: Int(mnl_attr_get_payload_len(attribute)))
                }
                place += (Int(unsafe mnl_attr_get_len(attribute)) + 3) & ~3
            }
            return unsafe found.flatMap(read)
        }
    }

    /// An integer; nil when the attribute is shorter.
    private func integer<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Int) -> Value? {
        unsafe payload(type) { raw in
            guard raw.count >= MemoryLayout<Value>.size else { return nil }
            return unsafe raw.loadUnaligned(as: Value.self)
        }
    }

    func uint8(_ type: Int) -> UInt8? { integer(type) }
    func uint32(_ type: Int) -> UInt32? { integer(type) }
    func int32(_ type: Int) -> Int32? { integer(type) }
    func address(_ type: Int) -> IPAddress? {
        unsafe payload(type) { unsafe IPAddress(network: $0) }
    }
    func mac(_ type: Int) -> MACAddress? { self[type].flatMap(MACAddress.init) }
    func nested(_ type: Int) -> Attributes? { self[type].map { Attributes(in: $0) } }

    /// A string, up to its NUL.
    func text(_ type: Int) -> String? {
        self[type].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

// Netlink headers and integers are in host order, addresses in network order (netlink(7)).

extension [UInt8] {
    /// The C structure or integer at `offset`; nil when that goes past the end.
    func read<Value: BitwiseCopyable>(_ type: Value.Type, at offset: Int = 0) -> Value? {
        guard offset >= 0, offset + MemoryLayout<Value>.size <= count else { return nil }
        // SAFETY: the range was checked above, and every pattern of bits is a value of the C
        // structures and integers that this module reads.
        return unsafe withUnsafeBytes {
            unsafe $0.loadUnaligned(fromByteOffset: offset, as: Value.self)
        }
    }

    /// The bytes of a C structure or integer.
    init(of value: some BitwiseCopyable) {
        // SAFETY: the value lives through the call, and the bytes are copied.
        self = unsafe Swift.withUnsafeBytes(of: value) { unsafe Array($0) }
    }
}

extension IPAddress {
    /// 4 or 16 bytes in network order, without a zone; nil for any other count.
    init?(network bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4:
            self.init(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self.init(
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
        default:
            return nil
        }
    }

    /// 4 or 16 bytes in network order.
    var networkBytes: [UInt8] {
        switch family {
        case .v4: [UInt8](of: v4.bigEndian)
        case .v6: [UInt8](of: high.bigEndian) + [UInt8](of: low.bigEndian)
        }
    }
}
