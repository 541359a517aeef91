// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import LinuxNet

extension PlaneError {
    /// The oldest kernel that can verify the program, one of whose global functions takes a pointer to
    /// memory. What it calls is older: `bpf_redirect_peer`, and next hops for `bpf_redirect_neigh`
    /// (Linux 5.10).
    private static let oldestKernel = "5.12"

    /// What libbpf or the kernel refused.
    init(_ error: BPFError) {
        self.init(
            error, mode: .tcEBPF, oldestKernel: Self.oldestKernel,
            lacking: Capabilities.kernelPrograms.subtracting(.permitted).names)
    }

    /// Two listeners of one interface want it hooked in different ways.
    init(_ listener: Listener, disagreesOver interface: String) {
        self.init(
            operation: "attach", subject: "listener \(listener.name) to interface \(interface)",
            reason: "another listener of the interface has another tc_attach",
            remedy: "write one tc_attach for both, best under settings at the top")
    }
}

extension BPFError {
    /// More than the kernel program has room for.
    static func tooMany(_ listeners: Int) -> BPFError {
        BPFError(
            operation: "lay out", subject: "\(listeners) listeners of mode tc_ebpf", errno: E2BIG,
            reason: "a program carries \(LB_LISTENERS_MAX) of them",
            remedy: "use mode: userspace for some")
    }
}
