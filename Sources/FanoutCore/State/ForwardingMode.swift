// SPDX-License-Identifier: Apache-2.0

/// Which data plane carries a listener's datagrams. The raw value is the spelling in YAML and metrics.
public enum ForwardingMode: String, CaseIterable, Hashable, Sendable {
    /// Sockets: recvmmsg and sendmmsg with GRO and GSO. Needs no privilege.
    case userspace
    /// The TC ingress hook: rewrite and redirect in the kernel.
    case tcEBPF = "tc_ebpf"
    /// AF_XDP sockets on every receive queue.
    case afXDP = "af_xdp"
    /// XDP with network address translation and associations in both directions.
    case xdpNAT = "xdp_nat"

    /// Kernel modes hook into an interface and must be told which.
    public var needsInterface: Bool { self != .userspace }
}
