// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing

/// Whether this process may load kernel programs.
enum KernelPrivilege {
    /// Always true for root: CI runs as root, and a test that cannot run there must fail.
    static let isHeld = geteuid() == 0 || holds(39 /* CAP_BPF */) && holds(12 /* CAP_NET_ADMIN */)

    private static func holds(_ capability: UInt64) -> Bool {
        guard let status = fopen("/proc/self/status", "r") else { return false }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), status) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            guard text.hasPrefix("CapEff:"),
                let digits = text.split(whereSeparator: \.isWhitespace).last,
                let held = UInt64(digits, radix: 16)
            else { continue }
            return held >> capability & 1 == 1
        }
        return false
    }
}

extension Trait where Self == ConditionTrait {
    /// The test loads programs into the kernel.
    static var loadsPrograms: Self {
        .enabled(
            if: KernelPrivilege.isHeld,
            "NOT TESTED: loading kernel programs needs root, or CAP_BPF and CAP_NET_ADMIN")
    }

    /// The test loads tc_fanout.bpf.c.
    static var takesFanout: Self {
        .enabled(
            if: KernelRelease.running >= .takesFanout,
            "NOT TESTED: tc_fanout needs Linux \(KernelRelease.takesFanout)")
    }

    /// The test loads xdp_steer.bpf.c.
    static var takesSteering: Self {
        .enabled(
            if: KernelRelease.running >= .takesFrags,
            "NOT TESTED: xdp_steer needs Linux \(KernelRelease.takesFrags)")
    }

    /// The test loads xdp_nat.bpf.c.
    static var takesNAT: Self {
        .enabled(
            if: KernelRelease.running >= .takesNAT,
            "NOT TESTED: xdp_nat needs Linux \(KernelRelease.takesNAT)")
    }
}
