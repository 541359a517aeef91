// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// A set of capabilities (capabilities(7)).
public struct Capabilities: OptionSet, Hashable, Sendable {
    /// A bit for each, by the number in linux/capability.h.
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    private init(number: Int) { rawValue = 1 << UInt64(number) }

    /// Binding ports below `net.ipv4.ip_unprivileged_port_start`.
    public static let netBindService = Capabilities(number: 10)
    public static let netAdmin = Capabilities(number: 12)
    public static let netRaw = Capabilities(number: 13)
    public static let ipcLock = Capabilities(number: 14)
    public static let sysAdmin = Capabilities(number: 21)
    public static let sysResource = Capabilities(number: 24)
    public static let perfmon = Capabilities(number: 38)
    public static let bpf = Capabilities(number: 39)

    /// The capabilities to load and attach our kernel programs. Without CAP_PERFMON the verifier refuses some of their
    /// operations (`perfmon_capable`, include/linux/bpf.h).
    public static let kernelPrograms: Capabilities = [.bpf, .netAdmin, .perfmon]

    static let named: [(Capabilities, String)] = [
        (.netBindService, "CAP_NET_BIND_SERVICE"), (.netAdmin, "CAP_NET_ADMIN"),
        (.netRaw, "CAP_NET_RAW"), (.ipcLock, "CAP_IPC_LOCK"), (.sysAdmin, "CAP_SYS_ADMIN"),
        (.sysResource, "CAP_SYS_RESOURCE"), (.perfmon, "CAP_PERFMON"), (.bpf, "CAP_BPF"),
    ]

    /// The names as in capabilities(7); numbers for unnamed ones.
    public var names: [String] {
        let known = Self.named.filter { contains($0.0) }.map(\.1)
        let rest = subtracting(Self.named.reduce(into: Capabilities()) { $0.formUnion($1.0) })
        return known + (0..<64).filter { rest.rawValue >> UInt64($0) & 1 == 1 }.map { "cap \($0)" }
    }

    /// The permitted capabilities of the calling thread.
    public static var permitted: Capabilities {
        var bits: UInt64 = 0
        // SAFETY: the function writes one value before it returns.
        let result = unsafe cnet_permitted_capabilities(&bits)
        return Capabilities(rawValue: result == 0 ? bits : 0)
    }

    /// Whether an executable file has capabilities, which the process that executes it gets.
    public static func areOn(_ path: String) -> Bool { unsafe cnet_has_capabilities(path) == 1 }

    /// Releases all others permanently, in every current and later thread of the process.
    ///
    /// - Throws: `SystemError` ETIMEDOUT when a thread does not follow within a second.
    public func keepOnlyThese() throws(SystemError) {
        try check("capset", cnet_keep_capabilities(rawValue))
    }
}
