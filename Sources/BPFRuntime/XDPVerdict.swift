// SPDX-License-Identifier: Apache-2.0

/// What an XDP program decides about a packet (`enum xdp_action`, include/uapi/linux/bpf.h). The
/// kernel takes any other number for `aborted`.
public enum XDPVerdict: UInt32, CaseIterable, Sendable {
    /// The program failed: dropped, and reported by the tracepoint `xdp_exception`.
    case aborted = 0
    case drop = 1
    /// On to the network stack.
    case pass = 2
    /// Back out of the interface on which it came.
    case transmit = 3
    /// To another interface, CPU or AF_XDP socket.
    case redirect = 4
}
