// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
package import FanoutCore
internal import KernelForwarding
internal import Logging

// The two directions have separate accounting. A listener's counters are those of clients' packets, as in every mode;
// the servers' packets are its replies.

extension XDPNATPlane {
    package func counters() -> [ListenerCounters] {
        guard serving != nil else { return [] }
        return listeners.map { listener in
            let tally = tally(of: listener)
            var result = ListenerCounters(listener, tally.requests)
            result.replies = ReplyCounters(tally.replies)
            result.departed = ReceiverSums(tally.receivers.departed)
            result.downstreams = listener.downstreams.map { downstream in
                DownstreamCounters(downstream, tally.receivers[downstream.endpoint] ?? Counts())
            }
            return result
        }
    }

    package func events() -> [String: UInt64] {
        guard let serving else { return [:] }
        var sum = departed
        for listener in listeners {
            for (index, count) in tally(of: listener).events.enumerated() {
                sum.events[index] &+= count
            }
        }
        sum.add((try? serving.program.none()) ?? [], LB_NAT_INGRESS)
        return Dictionary(uniqueKeysWithValues: zip(NATEvent.names, sum.events))
    }

    /// All counters of a listener, summed over its ports.
    private func tally(of listener: Listener) -> NATTally {
        var tally = past[listener.name] ?? NATTally()
        guard let serving else { return tally }
        for port in listener.ports {
            let name = VIPPort.Name(listener: listener.name, port: port)
            guard let vipPort = serving.layout.vipPorts[name] else { continue }
            add(vipPort.number, to: &tally, serving.program)
            for downstream in listener.downstreams {
                let endpoint = listener.endpoint(of: downstream, at: port)
                guard let server = vipPort.servers[endpoint] else { continue }
                let row = (try? serving.program.serverRow(server.number, LB_NAT_INGRESS)) ?? []
                tally.receivers.add(Counts(row), of: downstream.endpoint)
            }
        }
        return tally
    }

    private func add(_ vipPort: UInt32, to tally: inout NATTally, _ program: NATProgram) {
        for direction in [LB_NAT_INGRESS, LB_NAT_EGRESS] {
            tally.add((try? program.row(vipPort, direction)) ?? [], direction)
        }
    }

    /// Collects the counters of removed endpoints, and clears their rows for later ones.
    func keepDeparted(from previous: NATLayout, to layout: NATLayout, _ program: NATProgram) {
        for (name, gone) in layout.serversLeft(by: previous) {
            guard let listener = listeners.first(where: { $0.name == name.listener }) else {
                continue
            }
            let receivers = Dictionary(
                listener.downstreams.map { (listener.endpoint(of: $0, at: name.port), $0.endpoint) }
            ) { first, _ in first }
            for (endpoint, number) in gone {
                let key = receivers[endpoint] ?? endpoint
                let row = (try? program.serverRow(number, LB_NAT_INGRESS)) ?? []
                past[name.listener, default: NATTally()].receivers.add(Counts(row), of: key)
            }
            try? program.clearServerRows(gone.map(\.number))
        }
        for (name, vipPort) in layout.vipPortsLeft(by: previous) {
            add(vipPort.number, to: &past[name.listener, default: NATTally()], program)
            try? program.clearRows(vipPort.number)
        }
    }

    /// Removes deleted listeners, but keeps the sums of their packets' fates, which have no listener label and do not
    /// fall.
    func keepEvents(but listeners: [Listener]) {
        let names = Set(listeners.map(\.name))
        for (name, tally) in past where !names.contains(name) {
            for (index, count) in tally.events.enumerated() { departed.events[index] &+= count }
            past[name] = nil
        }
    }

    /// Waits until no packet is in the program.
    func settle() {
        guard let serving else { return }
        do throws(BPFError) {
            try serving.program.settle(serving.endpoints)
        } catch {
            logger.warning("counts may lack the last packets", metadata: ["error": "\(error)"])
        }
    }
}

extension ReplyCounters {
    fileprivate init(_ counts: Counts) {
        self.init()
        packetsReceived = counts[LB_COUNT_PACKETS_RECEIVED]
        bytesReceived = counts[LB_COUNT_BYTES_RECEIVED]
        packetsForwarded = counts[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = counts[LB_COUNT_BYTES_FORWARDED]
        drops = counts.drops
    }
}

/// Rows of counters of one listener or receiver: from clients, from servers, and the packets' fates.
struct NATTally: Sendable {
    var requests = Counts()
    var replies = Counts()
    var events = [UInt64](repeating: 0, count: Int(LB_NAT_EVENTS.rawValue))
    /// From clients, by the listener's endpoint of the receiver.
    var receivers = PastCounts<Counts>()

    /// Adds a row of `nat_rows` (lb/nat.h): counters, then events.
    mutating func add(_ row: [UInt64], _ direction: lb_nat_direction) {
        let counters = Array(row.prefix(Int(LB_COUNTERS.rawValue)))
        if direction == LB_NAT_INGRESS { requests.add(counters) } else { replies.add(counters) }
        for (index, count) in row.dropFirst(counters.count).enumerated()
        where index < events.count {
            events[index] &+= count
        }
    }
}

/// The fates of packets, by the names of lb/nat.h in lower case; many are the names of sbulb's program for the same
/// thing.
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
