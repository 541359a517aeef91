// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One queue of a network interface.
public struct InterfaceQueue: Hashable, Sendable, CustomStringConvertible {
    /// The number of the interface, in the network namespace of the calling thread.
    public let interface: UInt32
    /// From 0 on; `ethtool -l` says how many there are.
    public let queue: UInt32

    public init(interface: UInt32, queue: UInt32) {
        self.interface = interface
        self.queue = queue
    }

    /// What the interface is called at present; nil when it is gone.
    public var interfaceName: String? {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        // SAFETY: the C library writes at most IF_NAMESIZE bytes, NUL included.
        guard unsafe if_indextoname(interface, &name) != nil else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// `interface eth0 queue 2`
    public var description: String {
        "interface \(interfaceName ?? "\(interface)") queue \(queue)"
    }
}
