// SPDX-License-Identifier: Apache-2.0

/// A compiled kernel program that the build put into this module (bpf/embed.sh writes the instances).
public struct EmbeddedObject: Sendable {
    /// The name of its source in bpf/, without `.bpf.c`.
    public let name: StaticString
    /// The ELF object.
    let base64: StaticString

    /// Every object of bpf/, in the order of their names.
    public static let all = [flowKey, reuseportSelect, tcFanout, xdpErrors, xdpNAT, xdpSteer]

    /// The flow keys as the kernel computes them, for tests and `BPF_PROG_TEST_RUN`.
    public static var flowKey: EmbeddedObject { flow_key }

    /// Which socket of a SO_REUSEPORT group takes a datagram.
    public static var reuseportSelect: EmbeddedObject { reuseport_select }

    /// Forwarding at the TC ingress hook.
    public static var tcFanout: EmbeddedObject { tc_fanout }

    /// Counts the frames that drivers do not take from XDP programs.
    public static var xdpErrors: EmbeddedObject { xdp_errors }

    /// A NAT load balancer at the XDP hook.
    public static var xdpNAT: EmbeddedObject { xdp_nat }

    /// Which packets of an interface go to AF_XDP sockets.
    public static var xdpSteer: EmbeddedObject { xdp_steer }

    /// The bytes of the ELF object; nil when the text is not base64, which the build rules out.
    public var bytes: [UInt8]? { Base64.decode(base64.description.utf8) }
}
