// SPDX-License-Identifier: Apache-2.0

internal import CNet
public import FanoutCore
internal import Glibc

/// The VLAN tags of frames that an interface receives.
public enum InterfaceTags {
    /// Whether the driver strips them, before an XDP program sees the frame (`ethtool -k`: rx-vlan-offload).
    ///
    /// - Parameter name: of an interface in the calling thread's network.
    /// - Returns: false when the driver does not report it, or there is no such interface.
    public static func areStripped(by name: String) -> Bool {
        // SAFETY: the call reads the name before it returns.
        unsafe cnet_strips_tags(name) == 1
    }
}

/// The queues of an interface, as ethtool(8) `-l` shows them.
public struct InterfaceQueues: Equatable, Sendable {
    /// Receive queues in use.
    public let receive: Int
    /// Whether the driver counts queues in pairs; a veth counts each direction.
    public let areCombined: Bool

    public init(receive: Int, areCombined: Bool) {
        self.receive = receive
        self.areCombined = areCombined
    }

    /// Asks the driver.
    ///
    /// - Parameter name: of an interface in the calling thread's network.
    /// - Returns: nil when the driver does not report it, or there is no such interface.
    public init?(of name: String) {
        var (receive, transmit): (UInt32, UInt32) = (0, 0)
        // SAFETY: the call reads the name and writes both numbers before it returns.
        guard unsafe cnet_queues(name, &receive, &transmit) == 0 else { return nil }
        self.receive = Int(receive)
        areCombined = unsafe cnet_has_combined_queues(name) != 0
    }

    /// The command that sets their number.
    public func command(setting count: Int, of name: String) -> String {
        areCombined
            ? "ethtool -L \(name) combined \(count)"
            : "ethtool -L \(name) rx \(count) tx \(count)"
    }
}

/// The addresses of this host's interfaces.
public enum HostAddresses {
    /// The addresses in the calling thread's network, without zones; nil when the call fails (getifaddrs(3)).
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
