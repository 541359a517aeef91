// SPDX-License-Identifier: Apache-2.0

public import CNet
public import FanoutCore
internal import Glibc

extension Endpoint {
    /// The native address in a structure with room for either family, and its length.
    ///
    /// - Throws: `SystemError` ENODEV when the zone of a link-local address names no interface.
    public var native: cnet_name {
        get throws(SystemError) {
            var room = cnet_name()
            room.bytes = unsafe try withSocketAddress { source, size throws(SystemError) in
                // SAFETY: `words` has room for the larger of the two (CNet.c asserts it).
                unsafe withUnsafeMutableBytes(of: &room.words) { words in
                    unsafe words.copyMemory(
                        from: UnsafeRawBufferPointer(start: source, count: Int(size)))
                }
                return size
            }
            return room
        }
    }

    /// Calls `body` with this endpoint as a native socket address.
    ///
    /// - Throws: `SystemError` ENODEV when the zone of a link-local address names no interface.
    func withSocketAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        switch address.family {
        case .v4:
            var native = sockaddr_in()
            native.sin_family = sa_family_t(AF_INET)
            native.sin_port = port.bigEndian
            native.sin_addr.s_addr = address.v4.bigEndian
            return unsafe try passed(&native, body)
        case .v6:
            var native = sockaddr_in6()
            native.sin6_family = sa_family_t(AF_INET6)
            native.sin6_port = port.bigEndian
            native.sin6_addr = address.in6
            native.sin6_scope_id = try address.scopeNumber
            return unsafe try passed(&native, body)
        }
    }

    private func passed<Native, Result>(
        _ native: inout Native,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        let size = socklen_t(MemoryLayout<Native>.size)
        // SAFETY: sockaddr_in and sockaddr_in6 begin as a sockaddr does, and the size goes along.
        return unsafe try withUnsafePointer(to: &native) { pointer throws(SystemError) in
            unsafe try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bound throws(SystemError) in
                unsafe try body(bound, size)
            }
        }
    }
}

extension IPAddress {
    /// The 16 bytes in network order; IPv4 as `::ffff:a.b.c.d`.
    var in6: in6_addr {
        var result = in6_addr()
        // SAFETY: in6_addr is 16 bytes without padding, and any bytes are a valid one.
        unsafe withUnsafeMutableBytes(of: &result) { bytes in
            unsafe bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
            unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return result
    }

    /// The kernel's scope id of a link-local address; 0 without a zone.
    var scopeNumber: UInt32 {
        get throws(SystemError) {
            guard let zone else { return 0 }
            let index = unsafe if_nametoindex(zone)
            if index != 0 { return index }
            guard let number = UInt32(zone) else {
                throw SystemError("find interface \(zone)", code: ENODEV)
            }
            return number
        }
    }

    /// AF_INET or AF_INET6.
    public var nativeFamily: Int32 { family == .v4 ? AF_INET : AF_INET6 }
}
