// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Glibc

/// An interface of the calling thread's network namespace.
public struct HostInterface: Equatable, Sendable {
    /// The kernel's number for it, above 0; another one when it is deleted and made again.
    public var index: UInt32
    public var name: String
    /// Without zones.
    public var addresses: [IPAddress]

    public init(index: UInt32, name: String, addresses: [IPAddress] = []) {
        self.index = index
        self.name = name
        self.addresses = addresses
    }

    /// Every interface, by number (getifaddrs(3)).
    public static func all() throws(SystemError) -> [HostInterface] {
        var first: UnsafeMutablePointer<ifaddrs>?
        // SAFETY: the list is the C library's until it is freed below, and read in between.
        guard unsafe getifaddrs(&first) == 0 else { throw SystemError("getifaddrs", code: errno) }
        defer { unsafe freeifaddrs(first) }
        var found: [UInt32: HostInterface] = [:]
        var next = unsafe first
        while let entry = unsafe next?.pointee {
            let index = unsafe if_nametoindex(entry.ifa_name)
            let name = unsafe String(cString: entry.ifa_name)
            if index != 0 {
                let address = unsafe entry.ifa_addr.flatMap { unsafe IPAddress(native: $0) }
                found[index, default: HostInterface(index: index, name: name)].addresses +=
                    address.map { [$0] } ?? []
            }
            unsafe next = entry.ifa_next
        }
        return found.values.sorted { $0.index < $1.index }
    }
}

extension IPAddress {
    /// The address in a socket address of either family; nil for another family.
    fileprivate init?(native address: UnsafePointer<sockaddr>) {
        // SAFETY: the family says which structure is behind the pointer; both are plain bytes.
        let raw = unsafe UnsafeRawPointer(address)
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET:
            self.init(
                v4: UInt32(bigEndian: unsafe raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        case AF_INET6:
            self.init(
                high: UInt64(
                    bigEndian: unsafe raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                low: UInt64(
                    bigEndian: unsafe raw.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
        default: return nil
        }
    }
}
