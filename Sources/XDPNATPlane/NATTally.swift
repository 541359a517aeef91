// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore

/// Rows of counters of one listener or receiver: from clients, from servers, and what became of packets.
struct NATTally: Sendable {
    var requests = Counts()
    var answers = Counts()
    var events = [UInt64](repeating: 0, count: Int(LB_NAT_EVENTS.rawValue))
    /// From clients, by the endpoint that the listener has for it.
    var receivers = PastCounts<Counts>()

    /// Adds a row of `nat_rows` (lb/nat.h): counters, then events.
    mutating func add(_ row: [UInt64], _ direction: lb_nat_direction) {
        let counters = Array(row.prefix(Int(LB_COUNTERS.rawValue)))
        if direction == LB_NAT_INGRESS { requests.add(counters) } else { answers.add(counters) }
        for (index, count) in row.dropFirst(counters.count).enumerated()
        where index < events.count {
            events[index] &+= count
        }
    }
}

/// What becomes of packets, by the names of lb/nat.h in lower case; many are those that the program
/// sbulb has for the same thing.
enum NATEvent {
    /// In the order of enum lb_nat_event.
    static let names = [
        "ingress_reused_nat", "ingress_new_nat", "egress_reused_nat", "egress_new_nat",
        "egress_not_authorized", "ingress_cannot_create_asso", "egress_cannot_create_asso",
        "lifetime_expired", "invalid_ip_size", "too_small_ip_header", "invalid_udp_size",
        "too_big_ip_header", "fragmented_ip_packet", "not_udp", "not_ip",
        "ingress_not_handled_port", "egress_not_handled_port", "unhandled_traffic",
        "ingress_fragment", "egress_fragment", "ingress_icmp_error", "egress_icmp_error",
        "invalid_ip_checksum", "invalid_udp_checksum", "dropped_fragment", "oversize",
        "family_mismatch", "unreachable", "not_permitted", "rewrite_failed",
        "message_too_long", "to_stack", "to_host", "answered", "egress_wrong_interface",
        "egress_stateless_nat",
    ]
}
