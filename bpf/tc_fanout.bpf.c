// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * tc_fanout.bpf.c: a datagram's way through the mode `tc_ebpf`, at the TC ingress hook.
 *
 *   parse     headers (lb/packet.h); what is not a well-formed UDP datagram goes on untouched
 *   listener  by destination address, port and interface; no listener: goes on untouched
 *   key       by the listener's balance
 *   slot      slots[key mod n] is the receiver
 *   rewrite   TTL, destination address and port, checksums
 *   send      to the receiver's veth, out of an interface, or up the stack
 *   count     received, and forwarded or dropped with its reason; every return below a match counts
 *
 * Later fragments follow the first one; the datagram counts once, with its first fragment. When a later
 * fragment comes before the first, all of them go to the stack.
 *
 * Maps read: listeners, tables. Maps written: listener_rows, receiver_rows, turns, fragments.
 * Verdicts: TC_ACT_OK (goes on), TC_ACT_REDIRECT, TC_ACT_SHOT (dropped and counted).
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

#include "rewrite.bpf.h"
#include "tables.bpf.h"

#define AF_INET 2
#define AF_INET6 10
#define PACKET_HOST 0

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct lb_fragment_key);
	__type(value, struct lb_fragment);
} fragments SEC(".maps");

static __always_inline int drop(const struct lb_table *table, const struct lb_receiver *receiver,
				enum lb_drop_reason reason, __u64 packets)
{
	count(&listener_rows, table->row, LB_COUNT_DROPS + reason, packets, 0);
	if (receiver)
		count(&receiver_rows, receiver->row, LB_COUNT_DROPS + reason, packets, 0);
	return TC_ACT_SHOT;
}

/* Sends the packet, which is the receiver's by now. */
static __always_inline int send(struct __sk_buff *skb, const struct lb_packet *packet,
				const struct lb_receiver *receiver)
{
	struct bpf_redir_neigh next = {};
	struct bpf_fib_lookup fib = {};

	switch (receiver->path) {
	case LB_PATH_PEER:
		if (bpf_skb_store_bytes(skb, 0, receiver->mac, 6, 0))
			return TC_ACT_SHOT;
		bpf_skb_change_type(skb, PACKET_HOST);
		return bpf_redirect_peer(receiver->ifindex, 0);
	case LB_PATH_NEIGH:
		next.nh_family = receiver->is_v6 ? AF_INET6 : AF_INET;
		if (receiver->is_v6)
			lb_words_v6(receiver->next_hop, next.ipv6_nh);
		else
			next.ipv4_nh = bpf_htonl((__u32)receiver->next_hop.low);
		return bpf_redirect_neigh(receiver->ifindex, &next, sizeof(next), 0);
	case LB_PATH_FIB:
		fib.family = receiver->is_v6 ? AF_INET6 : AF_INET;
		fib.l4_protocol = LB_IP_UDP;
		fib.sport = bpf_htons(packet->flow.source_port);
		fib.dport = bpf_htons(receiver->port);
		fib.ifindex = skb->ingress_ifindex;
		/* A super-packet is longer than any MTU; its segments are what counts, so no length. */
		if (receiver->is_v6) {
			lb_words_v6(packet->flow.source, fib.ipv6_src);
			lb_words_v6(receiver->address, fib.ipv6_dst);
		} else {
			fib.ipv4_src = bpf_htonl((__u32)packet->flow.source.low);
			fib.ipv4_dst = bpf_htonl((__u32)receiver->address.low);
		}
		switch (bpf_fib_lookup(skb, &fib, sizeof(fib), 0)) {
		case BPF_FIB_LKUP_RET_SUCCESS:
		case BPF_FIB_LKUP_RET_NO_NEIGH:
			next.nh_family = fib.family;
			__builtin_memcpy(&next.ipv6_nh, &fib.ipv6_dst, sizeof(next.ipv6_nh));
			return bpf_redirect_neigh(fib.ifindex, &next, sizeof(next), 0);
		}
	}
	return TC_ACT_OK;
}

/* Whether the packet is too long for the way to the receiver, so that the stack has to cut it or tell
 * the sender. Super-packets are cut anyway. */
static __always_inline int is_too_long(const struct __sk_buff *skb, const struct lb_packet *packet,
				       const struct lb_receiver *receiver)
{
	return receiver->mtu && !skb->gso_size && skb->len - packet->ip > receiver->mtu;
}

/* Takes the tags off, the one that the kernel keeps beside the packet and those in it: where the packet
 * goes, its way decides about tags. */
static __always_inline int untag(struct __sk_buff *skb, struct lb_packet *packet)
{
	for (int i = 0; i < 3 && (skb->vlan_present || packet->tags); i++) {
		__u8 in_frame = !skb->vlan_present;

		if (bpf_skb_vlan_pop(skb))
			return -1;
		/* Popping the tag beside the packet draws the next one out of it. */
		if (packet->tags) {
			packet->tags--;
			packet->ip -= 4;
			packet->udp -= 4;
		}
		if (in_frame && !packet->tags)
			break;
	}
	return 0;
}

static __always_inline struct lb_fragment_key fragment_key(const struct __sk_buff *skb,
							   const struct lb_packet *packet)
{
	struct lb_fragment_key key = {
		.source = packet->flow.source,
		.destination = packet->flow.destination,
		.id = packet->fragment_id,
		.ifindex = skb->ingress_ifindex,
	};
	return key;
}

static __always_inline int forward(struct __sk_buff *skb, struct lb_packet *packet,
				   const struct lb_receiver *receiver, int has_udp)
{
	if (untag(skb, packet) || lb_rewrite(skb, packet, receiver, has_udp))
		return TC_ACT_SHOT;
	return is_too_long(skb, packet, receiver) ? TC_ACT_OK : send(skb, packet, receiver);
}

/* A later fragment goes where the first one went, and counts nowhere: its datagram has been. */
static __always_inline int follow(struct __sk_buff *skb, struct lb_packet *packet)
{
	struct lb_fragment_key key = fragment_key(skb, packet);
	struct lb_fragment *known = bpf_map_lookup_elem(&fragments, &key);
	struct lb_fragment passed = {.passed = 1};
	__u32 listener;

	if (known && !known->passed && packet->ttl > 1)
		return forward(skb, packet, &known->receiver, 0);
	if (!known && find_table(packet, skb->ingress_ifindex, 0, &listener))
		bpf_map_update_elem(&fragments, &key, &passed, BPF_NOEXIST);
	return TC_ACT_OK;
}

/* Whether later fragments have been let through; remembers the receiver if not. */
static __always_inline int is_passed(struct __sk_buff *skb, const struct lb_packet *packet,
				     const struct lb_receiver *receiver)
{
	struct lb_fragment_key key = fragment_key(skb, packet);
	struct lb_fragment *known = bpf_map_lookup_elem(&fragments, &key);
	struct lb_fragment first = {};

	if (known && known->passed)
		return 1;
	first.receiver = *receiver;
	bpf_map_update_elem(&fragments, &key, &first, BPF_ANY);
	return 0;
}

/* Headers that are longer than what lies in the skb's linear part are drawn into it. */
static __always_inline enum lb_parse parse(struct __sk_buff *skb, struct lb_packet *packet)
{
	enum {
		HEADERS = 14 + 8 + 40 + 64 + 8
	};
	__u32 wanted = skb->len < HEADERS ? skb->len : HEADERS;

	if (skb->data + wanted > skb->data_end && bpf_skb_pull_data(skb, wanted))
		return LB_PARSE_OTHER;
	return lb_parse_frame((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len,
			      packet);
}

SEC("tc")
int udp_fanout(struct __sk_buff *skb)
{
	__u64 packets = skb->gso_size ? skb->gso_segs : 1;
	struct lb_receiver *receiver;
	struct lb_packet packet;
	struct lb_table *table;
	enum lb_parse kind = parse(skb, &packet);
	__u32 listener;
	int verdict;

	if (kind == LB_PARSE_OTHER)
		return TC_ACT_OK;
	if (kind == LB_PARSE_LATER)
		return follow(skb, &packet);
	table = find_table(&packet, skb->ingress_ifindex, packet.flow.destination_port, &listener);
	if (!table)
		return TC_ACT_OK;
	receiver = choose(table, key_of(table, &packet, listener));
	if (kind == LB_PARSE_FIRST && receiver && is_passed(skb, &packet, receiver))
		return TC_ACT_OK;

	count(&listener_rows, table->row, LB_COUNT_PACKETS_RECEIVED, packets, packet.payload);
	if (!receiver)
		return drop(table, 0, LB_DROP_NO_HEALTHY, packets);
	/* A super-packet holds datagrams of gso_size bytes, the last may be shorter. */
	if ((skb->gso_size ? skb->gso_size : packet.payload) > table->max_packet_size)
		return drop(table, 0, LB_DROP_OVERSIZE, packets);
	if (receiver->is_v6 != packet.is_v6)
		return drop(table, receiver, LB_DROP_FAMILY_MISMATCH, packets);
	if (packet.ttl <= 1)
		return drop(table, receiver, LB_DROP_TTL_EXPIRED, packets);
	verdict = forward(skb, &packet, receiver, 1);
	if (verdict == TC_ACT_SHOT)
		return drop(table, receiver, LB_DROP_REWRITE_FAILED, packets);
	count(&listener_rows, table->row, LB_COUNT_PACKETS_FORWARDED, packets, packet.payload);
	count(&receiver_rows, receiver->row, LB_COUNT_PACKETS_FORWARDED, packets, packet.payload);
	return verdict;
}

char _license[] SEC("license") = "Dual BSD/GPL";
