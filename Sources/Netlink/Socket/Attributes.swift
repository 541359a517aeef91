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

    subscript(type: Int) -> [UInt8]? {
        // SAFETY: an array of bytes starts at a multiple of 16 and `start` is one of 4, as nlattr
        // asks. mnl_attr_ok checks that an attribute ends within the count that is left before
        // anything but its header is read, and the header only when 4 bytes are left.
        unsafe bytes.withUnsafeBytes { raw in
            var found: [UInt8]?
            var place = start
            while place < raw.count, let base = raw.baseAddress {
                let attribute = unsafe (base + place).assumingMemoryBound(to: nlattr.self)
                guard unsafe mnl_attr_ok(attribute, Int32(raw.count - place)) else { break }
                if unsafe Int(mnl_attr_get_type(attribute)) == type {
                    let payload = unsafe UnsafeRawBufferPointer(
                        start: mnl_attr_get_payload(attribute),
                        count: Int(mnl_attr_get_payload_len(attribute)))
                    found = unsafe Array(payload)
                }
                place += (Int(unsafe mnl_attr_get_len(attribute)) + 3) & ~3
            }
            return found
        }
    }

    func uint8(_ type: Int) -> UInt8? { self[type]?.read(UInt8.self) }
    func uint32(_ type: Int) -> UInt32? { self[type]?.read(UInt32.self) }
    func int32(_ type: Int) -> Int32? { self[type]?.read(Int32.self) }
    func address(_ type: Int) -> IPAddress? { self[type].flatMap(IPAddress.init(network:)) }
    func mac(_ type: Int) -> MACAddress? { self[type].flatMap(MACAddress.init) }
    func nested(_ type: Int) -> Attributes? { self[type].map { Attributes(in: $0) } }

    /// A string, up to its NUL.
    func text(_ type: Int) -> String? {
        self[type].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
