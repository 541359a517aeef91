// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import Netlink

extension PlaneError {
    /// The oldest kernel that can verify the program, one of whose global functions takes a pointer to
    /// memory. What it calls is older: `bpf_redirect_peer`, and next hops for `bpf_redirect_neigh`
    /// (Linux 5.10).
    private static let oldestKernel = "5.12"

    /// What libbpf or the kernel refused.
    init(_ error: BPFError) {
        var (reason, remedy) = (error.reason, error.remedy)
        if !error.log.isEmpty {
            reason =
                (["\(reason), the verifier's last words:"] + error.log)
                .joined(separator: "\n    ") + "\n"
            remedy =
                "mode tc_ebpf needs Linux \(Self.oldestKernel), and this is "
                + "\(BPFRuntimeInfo.kernelRelease); on a newer one " + remedy
        }
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno, reason: reason,
            remedy: remedy)
    }

    /// A listener's interface is not there.
    init(noInterface listener: Listener, among interfaces: [HostInterface]) {
        let names = interfaces.map(\.name).joined(separator: ", ")
        self.init(
            operation: "attach",
            subject: "listener \(listener.name) to interface \(listener.interface ?? "")",
            code: ENODEV, reason: "there is no such interface",
            remedy: "write one of those that exist: \(names)")
    }

    /// Two listeners of one interface want it hooked in different ways.
    init(_ listener: Listener, disagreesOver interface: String) {
        self.init(
            operation: "attach", subject: "listener \(listener.name) to interface \(interface)",
            reason: "another listener of the interface has another tc_attach",
            remedy: "write one tc_attach for both, best under settings at the top")
    }

    /// The kernel does not tell about the network.
    init(looking error: NetlinkError) {
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno,
            reason: error.reason, remedy: error.remedy)
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
