// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The first two numbers of a kernel's version, for tests that depend on it.
public struct KernelRelease: Comparable, Sendable, CustomStringConvertible {
    public let major: Int
    public let minor: Int

    public init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Parses a text such as `6.1.0-56-cloud-amd64`; anything but a number counts as 0.
    public init(parsing text: String) {
        let numbers = text.split { !$0.isNumber }.prefix(2).map { Int($0) ?? 0 } + [0, 0]
        self.init(numbers[0], numbers[1])
    }

    /// The running kernel.
    public static let running: KernelRelease = {
        var names = utsname()
        uname(&names)
        let text = withUnsafeBytes(of: &names.release) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return KernelRelease(parsing: text)
    }()

    /// The first that verifies tc_fanout.bpf.c: global functions may have pointers to memory as arguments.
    public static let takesFanout = KernelRelease(5, 12)

    /// The first with programs of type sk_reuseport that migrate the connections of a closing listener.
    public static let takesMigration = KernelRelease(5, 14)

    /// The first with XDP programs for multi-buffer packets (`xdp.frags`), as xdp_steer.bpf.c and xdp_nat.bpf.c are,
    /// and with live frames in test runs.
    public static let takesFrags = KernelRelease(5, 18)

    /// The first that verifies xdp_nat.bpf.c: a global function's argument may be the key of a map.
    public static let takesNAT = KernelRelease(6, 2)

    /// The first with the hook TCX.
    public static let hasTCX = KernelRelease(6, 6)

    public var description: String { "\(major).\(minor)" }

    public static func < (one: KernelRelease, other: KernelRelease) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }
}
