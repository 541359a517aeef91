// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// Why a received datagram was not forwarded. The raw value is the metric label `reason`.
public enum DropReason: String, CaseIterable, Hashable, Sendable {
    case noHealthy = "no_healthy"
    case oversize
    case familyMismatch = "family_mismatch"
    case wouldBlock = "would_block"
    case noBuffers = "no_buffers"
    case refused
    case unreachable
    case messageTooLong = "message_too_long"
    case notPermitted = "not_permitted"
    case sendError = "send_error"
    /// TTL or hop limit 1, which a router does not forward. Kernel modes only, like the next.
    case ttlExpired = "ttl_expired"
    case rewriteFailed = "rewrite_failed"

    /// Its index in a row of counters: the value of the C enumeration.
    public var index: Int {
        let code: lb_drop_reason =
            switch self {
            case .noHealthy: LB_DROP_NO_HEALTHY
            case .oversize: LB_DROP_OVERSIZE
            case .familyMismatch: LB_DROP_FAMILY_MISMATCH
            case .wouldBlock: LB_DROP_WOULD_BLOCK
            case .noBuffers: LB_DROP_NO_BUFFERS
            case .refused: LB_DROP_REFUSED
            case .unreachable: LB_DROP_UNREACHABLE
            case .messageTooLong: LB_DROP_MESSAGE_TOO_LONG
            case .notPermitted: LB_DROP_NOT_PERMITTED
            case .sendError: LB_DROP_SEND_ERROR
            case .ttlExpired: LB_DROP_TTL_EXPIRED
            case .rewriteFailed: LB_DROP_REWRITE_FAILED
            }
        return Int(code.rawValue)
    }

    /// Whether the reason concerns one receiver and is charged to it; the others concern the listener.
    public var isDownstreams: Bool {
        switch self {
        case .noHealthy, .oversize: false
        case .familyMismatch, .wouldBlock, .noBuffers, .refused, .unreachable, .messageTooLong,
            .notPermitted, .sendError, .ttlExpired, .rewriteFailed:
            true
        }
    }
}
