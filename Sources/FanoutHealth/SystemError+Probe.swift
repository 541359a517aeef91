// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet

extension SystemError {
    /// What the error says of the target when it came as an answer to a probe. The kernel makes these
    /// of ICMP messages (`icmp_err_convert` in net/ipv4/icmp.c) and of TCP's resets.
    var answer: ProbeResult {
        switch code {
        case ECONNREFUSED, ECONNRESET: .refused
        case ETIMEDOUT: .timeout
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, ENONET, EACCES, EPROTO, ENOPROTOOPT,
            EOPNOTSUPP:
            .unreachable
        default: .error
        }
    }

    /// What it says when the probe could not be sent: without a route nothing else would get there
    /// either, while a lack of descriptors or permission is this host's affair.
    var obstacle: ProbeResult {
        switch code {
        case ECONNREFUSED: .refused
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN: .unreachable
        default: .error
        }
    }
}
