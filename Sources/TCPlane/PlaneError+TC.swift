// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc

extension PlaneError {
    /// The oldest kernel that can verify the program, one of whose global functions takes a pointer to
    /// memory. What it calls is older: `bpf_redirect_peer`, and next hops for `bpf_redirect_neigh`
    /// (Linux 5.10).
    private static let oldestKernel = "5.12"

    /// The verifier refuses some of what the program does to who lacks CAP_PERFMON
    /// (`perfmon_capable`, include/linux/bpf.h), so all three are named.
    private static let capabilities = "CAP_BPF and CAP_NET_ADMIN and CAP_PERFMON"

    /// What libbpf or the kernel refused.
    init(_ error: BPFError) {
        var remedy = error.remedy
        if !error.log.isEmpty {
            remedy = "with \(Self.capabilities), or as root, " + remedy
        } else if error.errno == EPERM {
            remedy = "needs \(Self.capabilities); run as root or grant all of them"
        }
        let named = BPFError(
            operation: error.operation, subject: error.subject, errno: error.errno,
            reason: error.reason, remedy: remedy, log: error.log, wholeLog: error.wholeLog)
        self.init(named, mode: .tcEBPF, oldestKernel: Self.oldestKernel)
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
