// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Glibc

/// What the socket is called on this host (getsockname(2)).
extension Socket {
    /// The port that the socket is bound to; port 0 in `bind` becomes the one that was chosen.
    public var boundPort: UInt16 {
        // The port stands at one place in either family's address.
        get throws(SystemError) { UInt16(bigEndian: try name.sin6_port) }
    }

    /// The address that the socket is bound to, without a zone: the source that the kernel has chosen
    /// once the socket is connected.
    public var boundAddress: IPAddress {
        get throws(SystemError) { IPAddress(native: try name) }
    }

    private var name: sockaddr_in6 {
        get throws(SystemError) { try Self.name(of: descriptor) }
    }

    static func name(of descriptor: Int32) throws(SystemError) -> sockaddr_in6 {
        var storage = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        // SAFETY: sockaddr_in6 has room for either family's address.
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        try check("getsockname", orError(result))
        return storage
    }
}

extension IPAddress {
    /// The address in a socket address of either family, without a zone.
    init(native name: sockaddr_in6) {
        // SAFETY: sockaddr_in6 holds either family's address in its 28 bytes, and the kernel has
        // written the family: IPv4 has its address at byte 4, IPv6 at byte 8.
        self = unsafe withUnsafeBytes(of: name) { bytes in
            if Int32(name.sin6_family) == AF_INET {
                let word = unsafe bytes.load(fromByteOffset: 4, as: UInt32.self)
                return IPAddress(v4: UInt32(bigEndian: word))
            }
            let high = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let low = unsafe bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            return IPAddress(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
        }
    }
}
