// SPDX-License-Identifier: Apache-2.0

// Its header includes sys/socket.h; an optimising build attributes sockaddr_storage to this module.
internal import CReusePortLB
internal import Glibc

extension Endpoint {
    /// Reads a socket address of the kernel or the C library; nil for other families than IPv4 and IPv6, and for port
    /// 0, to which no socket is bound.
    init?(storage: sockaddr_storage) {
        // SAFETY: sockaddr_storage is larger and more strictly aligned than both.
        let found = unsafe withUnsafePointer(to: storage) {
            unsafe Endpoint(reading: UnsafeRawPointer($0))
        }
        guard let found, found.port != 0 else { return nil }
        self = found
    }

    /// Reads a sockaddr_in or sockaddr_in6, aligned to at least 4 bytes; nil for another family. The port may be 0:
    /// such datagrams are valid but cannot be answered (RFC 768). Does not allocate.
    init?(reading name: UnsafeRawPointer) {
        // SAFETY: the caller's pointer leads to as many bytes as the family has.
        switch Int32(unsafe name.load(as: sa_family_t.self)) {
        case AF_INET:
            let native = unsafe name.load(as: sockaddr_in.self)
            self.init(
                IPAddress(v4: UInt32(bigEndian: native.sin_addr.s_addr)),
                port: UInt16(bigEndian: native.sin_port))
        case AF_INET6:
            let port = unsafe UInt16(bigEndian: name.load(fromByteOffset: 2, as: UInt16.self))
            // Address at byte 8, scope at byte 24 (linux/in6.h).
            let high = unsafe name.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let low = unsafe name.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            let scope = unsafe name.load(fromByteOffset: 24, as: UInt32.self)
            // The number of the interface: its name would cost a system call a datagram.
            let zone = scope == 0 ? nil : String(scope)
            self.init(
                IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low), zone: zone),
                port: port)
        default:
            return nil
        }
    }

    /// A copy as a native socket address.
    ///
    /// - Throws: as ``withNative(_:)``.
    func storage() throws(ReusePortError) -> sockaddr_storage {
        try unsafe withNative { name, length in
            var storage = sockaddr_storage()
            // SAFETY: no address is longer.
            unsafe memcpy(&storage, name, Int(length))
            return storage
        }
    }

    /// Calls `body` with this endpoint as a native socket address.
    ///
    /// - Throws: ENODEV when the zone of a link-local address names no interface.
    func withNative<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws(ReusePortError) -> Result {
        var storage = sockaddr_storage()
        let scope = try scopeNumber
        let size: Int
        // SAFETY: sockaddr_storage has room for both, and each begins as a sockaddr does.
        switch address.family {
        case .v4:
            var native = sockaddr_in()
            native.sin_family = sa_family_t(AF_INET)
            native.sin_port = port.bigEndian
            native.sin_addr.s_addr = address.v4.bigEndian
            size = MemoryLayout<sockaddr_in>.size
            unsafe withUnsafeMutableBytes(of: &storage) {
                unsafe $0.storeBytes(of: native, as: sockaddr_in.self)
            }
        case .v6:
            size = MemoryLayout<sockaddr_in6>.size
            unsafe withUnsafeMutableBytes(of: &storage) { bytes in
                unsafe bytes.storeBytes(of: sa_family_t(AF_INET6), as: sa_family_t.self)
                unsafe bytes.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
                unsafe bytes.storeBytes(
                    of: address.high.bigEndian, toByteOffset: 8, as: UInt64.self)
                unsafe bytes.storeBytes(
                    of: address.low.bigEndian, toByteOffset: 16, as: UInt64.self)
                unsafe bytes.storeBytes(of: scope, toByteOffset: 24, as: UInt32.self)
            }
        }
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(size))
            }
        }
    }

    /// The kernel's scope id of a link-local address; 0 without a zone.
    private var scopeNumber: UInt32 {
        get throws(ReusePortError) {
            guard let zone = address.zone else { return 0 }
            let index = unsafe if_nametoindex(zone)
            if index != 0 { return index }
            guard let number = UInt32(zone) else {
                throw ReusePortError("find the interface of", "\(self)", errno: ENXIO)
            }
            return number
        }
    }
}
