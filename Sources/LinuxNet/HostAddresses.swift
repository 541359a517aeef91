// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Glibc

/// The addresses of this host's interfaces.
public enum HostAddresses {
    /// Those of the calling thread's network, without zones; nil where the kernel does not tell (getifaddrs(3)).
    public static func all() -> Set<IPAddress>? {
        var first: UnsafeMutablePointer<ifaddrs>?
        // SAFETY: the call leads `first` to a list, which is freed below.
        guard unsafe getifaddrs(&first) == 0 else { return nil }
        defer { unsafe freeifaddrs(first) }
        var result = Set<IPAddress>()
        var next = unsafe first
        // SAFETY: the list ends with nil, and lives until it is freed.
        while let entry = unsafe next?.pointee {
            unsafe next = entry.ifa_next
            guard let address = unsafe entry.ifa_addr else { continue }
            // SAFETY: every socket address begins with its family, which tells of the rest's size.
            let family = Int32(unsafe address.pointee.sa_family)
            let size =
                family == AF_INET
                ? MemoryLayout<sockaddr_in>.size
                : family == AF_INET6 ? MemoryLayout<sockaddr_in6>.size : 0
            guard size > 0 else { continue }
            var name = sockaddr_in6()
            // SAFETY: sockaddr_in6 is the longer one, and the kernel's structure has `size` bytes.
            unsafe withUnsafeMutableBytes(of: &name) {
                unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size))
            }
            result.insert(IPAddress(native: name))
        }
        return result
    }
}
