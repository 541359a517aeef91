// SPDX-License-Identifier: Apache-2.0

/// A compiled kernel program that is embedded in this module (bpf/embed.sh writes the instances).
public struct EmbeddedObject: Sendable {
    /// The name of its source in bpf/, without `.bpf.c`.
    public let name: StaticString
    /// The ELF object.
    let base64: StaticString

    /// Every object of bpf/, sorted by name.
    public static let all = [flowKey, reuseportSelect, tcFanout, xdpErrors, xdpNAT, xdpSteer]

    /// The flow keys as the kernel computes them, for tests and `BPF_PROG_TEST_RUN`.
    public static var flowKey: EmbeddedObject { flow_key }

    /// Selects the socket of a SO_REUSEPORT group for a datagram.
    public static var reuseportSelect: EmbeddedObject { reuseport_select }

    /// Forwarding at the TC ingress hook.
    public static var tcFanout: EmbeddedObject { tc_fanout }

    /// Counts the frames of XDP programs that drivers refuse.
    public static var xdpErrors: EmbeddedObject { xdp_errors }

    /// A NAT load balancer at the XDP hook.
    public static var xdpNAT: EmbeddedObject { xdp_nat }

    /// Selects the packets of an interface for AF_XDP sockets.
    public static var xdpSteer: EmbeddedObject { xdp_steer }

    /// The bytes of the ELF object; nil when the text is not base64, which the build rules out.
    public var bytes: [UInt8]? { Base64.decode(base64.description.utf8) }
}

/// The encoding of the embedded kernel programs (RFC 4648, section 4).
package enum Base64 {
    /// The decoded bytes of `text`; nil unless it consists of whole groups of four from the alphabet, padded with `=`
    /// only at the end. O(n).
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let length = text.count
        guard length % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length / 4 * 3)
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
            } else {
                guard padding == 0, let digit = digit(character) else { return nil }
                group |= UInt32(digit) << (18 - 6 * UInt32(digits % 4))
            }
            digits += 1
            if digits % 4 == 0 {
                // Padding is in the last group: one `=` leaves two bytes, two leave one.
                guard padding == 0 || digits == length, padding <= 2 else { return nil }
                for index in 0..<(3 - padding) {
                    bytes.append(UInt8(truncatingIfNeeded: group >> (16 - 8 * UInt32(index))))
                }
                group = 0
            }
        }
        return bytes
    }

    /// The six bits of one letter.
    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
