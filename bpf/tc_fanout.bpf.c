// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * tc_fanout.bpf.c: a datagram's way through the mode `tc_ebpf`, at the TC ingress hook.
 *
 *   parse     headers (lb/packet.h); other packets than well-formed UDP datagrams pass untouched
 *   listener  by destination address, port and interface; without a listener the packet passes untouched
 *   key       by the listener's balance
 *   slot      slots[key mod n] is the receiver
 *   way       to the receiver's veth, out of an interface, or up the stack
 *   rewrite   destination address and port, checksums; TTL unless the stack forwards the packet
 *   send      by its way
 *   count     received, and forwarded or dropped with its reason; every return below a match counts
 *
 * Later fragments follow the first one; the datagram counts once, with its first fragment. When a later
 * fragment comes before the first, all of them go to the stack, uncounted (fragments.bpf.h).
 *
 * Maps read: ports, listeners, tables. Maps written: listener_rows, receiver_rows, turns, fragments.
 * Verdicts: TC_ACT_UNSPEC (passes: to other tools' programs after this one, then to the stack; TC_ACT_OK
 * would skip all of them, and every filter of clsact too when this is at TCX), TC_ACT_REDIRECT,
 * TC_ACT_SHOT (dropped and counted).
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#define LB_CONTEXT struct __sk_buff
#define LB_PAYLOAD_COPY(context, offset, to, bytes) bpf_skb_load_bytes(context, offset, to, bytes)
#include <lb/packet.h>
#include <lb/tables.h>

#include "fragments.bpf.h"
#include "path.bpf.h"
#include "tables.bpf.h"

#define PACKET_HOST 0 /* linux/if_packet.h */

/* The headers that lie in the linear part of the skb: an enum lb_parse.
 *
 * A global function is verified on its own (Linux 5.6; with such a pointer, 5.12). Otherwise the verifier
 * would walk the rest of the program for each path through the headers, and give up. */
__noinline int lb_parse_skb(struct __sk_buff *skb, struct lb_packet *packet)
{
	const __u8 *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	return packet ? lb_parse_datagram(data, end, skb->len, packet) : LB_PARSE_OTHER;
}

/* A packet's headers: an enum lb_parse, never LB_PARSE_SHORT. They are pulled into the linear part of the
 * skb only when they are outside of it: that costs time, and most packets may not be the listener's. */
static __always_inline int parse(struct __sk_buff *skb, struct lb_packet *packet)
{
	__u32 wanted = skb->len < LB_HEADERS_MAX ? skb->len : LB_HEADERS_MAX;
	int kind = lb_parse_skb(skb, packet);

	if (kind != LB_PARSE_SHORT)
		return kind;
	if ((void *)(long)skb->data + wanted <= (void *)(long)skb->data_end ||
	    bpf_skb_pull_data(skb, wanted))
		return LB_PARSE_OTHER;
	kind = lb_parse_skb(skb, packet);
	return kind == LB_PARSE_SHORT ? LB_PARSE_OTHER : kind;
}

/* Sends a later fragment where the first one went. It is not counted: its datagram has been. */
static __noinline int follow(struct __sk_buff *skb, struct lb_packet *packet)
{
	struct lb_fragment_key key = fragment_key(skb, packet);
	struct lb_fragment *known = find_fate(&key, bpf_ktime_get_ns());
	struct lb_way way = {};
	__u32 listener;

	if (!known) {
		if (!find_shared(packet, skb->ingress_ifindex, 0, &listener))
			return TC_ACT_UNSPEC;
		if (settle(&key, LB_FATE_PASSED, 0))
			return TC_ACT_UNSPEC;
		known = find_fate(&key, bpf_ktime_get_ns());
	}
	if (!known || known->fate == LB_FATE_PASSED)
		return TC_ACT_UNSPEC;
	if (known->fate == LB_FATE_DROPPED || find_way(skb, packet, &known->receiver, &way) >= 0)
		return TC_ACT_SHOT;
	return forward(skb, packet, &known->receiver, &way, 0);
}

/* Decides the fate of a datagram by its first fragment; 0 when the stack has the later ones. */
static __noinline int lead(struct __sk_buff *skb, const struct lb_packet *packet,
			   const struct lb_receiver *receiver, int reason)
{
	struct lb_fragment_key key = fragment_key(skb, packet);

	return settle(&key, reason < 0 ? LB_FATE_SENT : LB_FATE_DROPPED, receiver);
}

/* Datagrams in the packet: those of a super-packet have gso_size bytes each, the last may be shorter. The
 * number may not be set in the skb. */
static __always_inline __u64 datagrams(const struct __sk_buff *skb, const struct lb_packet *packet)
{
	if (!skb->gso_size)
		return 1;
	if (skb->gso_segs)
		return skb->gso_segs;
	return (packet->payload + skb->gso_size - 1) / skb->gso_size;
}

/* The receiver of the datagram. A super-packet goes by its first datagram. */
static __always_inline struct lb_receiver *choose_for(struct __sk_buff *skb, struct lb_table *table,
						      const struct lb_packet *packet,
						      __u32 listener)
{
	__u32 bytes = lb_payload_in(packet);

	if (table->key != LB_KEY_PAYLOAD)
		return choose(table, key_of(table, packet, listener));
	if (skb->gso_size && bytes > skb->gso_size)
		bytes = skb->gso_size;
	return choose(table, lb_payload_key_of(skb, table, &packet->flow, packet->udp + 8u, bytes));
}

/* The drop reason of the datagram, or -1; then it fills in the path. */
static __always_inline int obstacle(struct __sk_buff *skb, const struct lb_packet *packet,
				    const struct lb_table *table,
				    const struct lb_receiver *receiver, struct lb_way *way)
{
	if (!receiver)
		return LB_DROP_NO_HEALTHY;
	if ((skb->gso_size ? skb->gso_size : packet->payload) > table->max_packet_size)
		return LB_DROP_OVERSIZE;
	if (receiver->is_v6 != packet->is_v6)
		return LB_DROP_FAMILY_MISMATCH;
	return find_way(skb, packet, receiver, way);
}

SEC("tc")
int udp_fanout(struct __sk_buff *skb)
{
	struct lb_row *of_listener, *of_receiver = 0;
	struct lb_receiver *receiver;
	struct lb_packet packet;
	struct lb_way way = {};
	struct lb_table *table;
	__u32 listener;
	__u64 packets;
	int kind, reason, verdict;

	/* Flooded frames, and those for another host, pass; the stack drops them. Packets in a VLAN are for
	 * the VLAN's own interface. */
	if (skb->pkt_type != PACKET_HOST || (skb->vlan_present && skb->vlan_tci & LB_VLAN_ID))
		return TC_ACT_UNSPEC;
	kind = parse(skb, &packet);
	if (kind == LB_PARSE_OTHER)
		return TC_ACT_UNSPEC;
	if (lb_is_loopback(packet.flow.source) && skb->ingress_ifindex != LOOPBACK_IFINDEX)
		return TC_ACT_UNSPEC;
	if (kind == LB_PARSE_LATER)
		return follow(skb, &packet);
	table = find_table(&packet, skb->ingress_ifindex, &listener);
	if (!table)
		return TC_ACT_UNSPEC;
	receiver = choose_for(skb, table, &packet, listener);
	reason = obstacle(skb, &packet, table, receiver, &way);
	if (kind == LB_PARSE_FIRST && !lead(skb, &packet, receiver, reason))
		return TC_ACT_UNSPEC;

	packets = datagrams(skb, &packet);
	of_listener = bpf_map_lookup_elem(&listener_rows, &table->row);
	count(of_listener, LB_COUNT_PACKETS_RECEIVED, packets, packet.payload);
	/* The listener counts these two, not the receiver. */
	if (receiver && reason != LB_DROP_OVERSIZE)
		of_receiver = bpf_map_lookup_elem(&receiver_rows, &receiver->row);
	verdict = TC_ACT_SHOT;
	if (receiver && reason < 0) {
		verdict = forward(skb, &packet, receiver, &way, 1);
		reason = LB_DROP_REWRITE_FAILED;
	}
	if (verdict == TC_ACT_SHOT) {
		count_drop(of_listener, reason, packets);
		count_drop(of_receiver, reason, packets);
		return verdict;
	}
	count(of_listener, LB_COUNT_PACKETS_FORWARDED, packets, packet.payload);
	count(of_receiver, LB_COUNT_PACKETS_FORWARDED, packets, packet.payload);
	return verdict;
}

char _license[] SEC("license") = "Dual BSD/GPL";
