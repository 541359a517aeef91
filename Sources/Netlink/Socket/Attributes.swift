// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import FanoutCore

/// The attributes of a netlink message, or those nested in one of them, by number (netlink(7)). The
/// last of several with one number counts. What is cut short is left out.
///
/// Nothing is read before it is asked for: of a route's answer, thousands of which are read at a time, most
/// is never looked at.
struct Attributes {
    private let bytes: [UInt8]
    private let start: Int

    /// What stands in `bytes` behind a fixed header.
    init(in bytes: [UInt8], behind header: Int = 0) {
        self.bytes = bytes
        start = (header + 3) & ~3
    }

    subscript(type: Int) -> [UInt8]? { unsafe payload(type) { unsafe Array($0) } }

    /// What `read` makes of an attribute's bytes, which are there for as long as it runs.
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
