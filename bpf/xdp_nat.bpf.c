// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * xdp_nat.bpf.c: a packet's way through the mode `xdp_nat`: each client stays with one server, in both
 * directions, as long as the maps have room for its association.
 *
 *   ours       the frame is for this interface, by the stack's rules
 *   parse      headers (lib/nat_parse.bpf.h, lb/packet.h)
 *   endpoint   to a service: ingress; from a server: egress; neither: passes untouched
 *   associate  the client with a server (nat_association.bpf.h). Ingress: the one it has, or the owner of
 *              its slot (slots[key mod n]) from now on. Egress: the one it has and no other, or the
 *              sender from now on
 *   rewrite    ingress the destination, to the server; egress the source, to the service; checksums, TTL
 *   send       back where it came from, or by the routes (nat_way.bpf.h)
 *   count      with the listener and the server, and its event; every return counts one
 *
 * ICMP errors about translated packets are sent like those packets, with their quote translated too
 * (nat_icmp.bpf.h). Later fragments follow the first one; when one comes before it, the whole datagram
 * goes to the stack (fragments.bpf.h).
 *
 * Nearly all packets take the fast path first (nat_known.bpf.h).
 *
 * Maps read: .data.hooks, endpoints, services, servers, tables, routes, links. Maps written: those of associations
 * and unanswered, begun, nat_rows, server_rows, turns, fragments, ways, error_rates.
 * Verdicts: XDP_TX and XDP_REDIRECT (translated), XDP_PASS (untouched, or translated and left to the
 * stack's routes), XDP_DROP (counted). A packet above the MTU of its way counts as dropped, and leaves by
 * XDP_TX as the ICMP error about it (nat_too_long.bpf.h).
 */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define LB_CONTEXT struct xdp_md
#define LB_PAYLOAD_COPY(context, offset, to, bytes)                                                \
	bpf_xdp_load_bytes((struct xdp_md *)(context), offset, to, bytes)
#include <lb/nat.h>
#include <lb/packet.h>

/* Servers are chosen once for a client. */
#define LB_SHARED_ROUND_ROBIN

#include "fragments.bpf.h"
#include "nat_icmp.bpf.h"
#include "nat_known.bpf.h"
#include "nat_parse.bpf.h"
#include "nat_too_long.bpf.h"
#include "nat_translate.bpf.h"
#include "nat_way.bpf.h"

/* Source and destination of a datagram's fragments. In IPv4 the identification belongs to the protocol. */
static __always_inline struct lb_fragment_key key_of_fragments(const struct xdp_md *ctx,
							       const struct lb_packet *packet)
{
	struct lb_fragment_key key = {
		.source = packet->flow.source,
		.destination = packet->flow.destination,
		.id = packet->fragment_id,
		.ifindex = ctx->ingress_ifindex,
	};

	if (!packet->is_v6)
		key.id |= (__u32)packet->protocol << 16;
	return key;
}

/* Passes the whole datagram to the stack, since its later fragment came first; 0 when the first one was
 * quicker. A separate function: the stack frames of nested calls add up to 512 bytes at most. */
static __noinline int leave_to_stack(const struct lb_fragment_key *key)
{
	return settle(key, LB_FATE_PASSED, 0);
}

/* Sends a later fragment where the first one went. */
static __noinline int follow(struct xdp_md *ctx, struct lb_packet *packet)
{
	struct lb_fragment_key key = key_of_fragments(ctx, packet);
	struct lb_fragment *known = find_fate(&key, bpf_ktime_get_ns());
	struct nat_move move = {.direction = LB_NAT_INGRESS, .reason = -1};
	int verdict = XDP_PASS;

	if (!(roles_of(&key.destination) & LB_NAT_SERVICE)) {
		move.direction = LB_NAT_EGRESS;
		if (!(roles_of(&key.source) & (LB_NAT_SERVER | LB_NAT_LEFT))) {
			count_event(LB_NAT_NO_LISTENER, LB_NAT_UNHANDLED_TRAFFIC);
			return XDP_PASS;
		}
	}
	if (!known && !leave_to_stack(&key))
		known = find_fate(&key, bpf_ktime_get_ns());
	if (!known || known->fate == LB_FATE_PASSED) {
		count_event(LB_NAT_NO_LISTENER, LB_NAT_FRAGMENTED_IP_PACKET);
		return XDP_PASS;
	}
	move.event = move.direction ? LB_NAT_EGRESS_FRAGMENT : LB_NAT_INGRESS_FRAGMENT;
	if (known->fate == LB_FATE_DROPPED) {
		count_event(LB_NAT_NO_LISTENER, LB_NAT_DROPPED_FRAGMENT);
		return XDP_DROP;
	}
	if (packet->ttl <= 1) {
		count_event(LB_NAT_NO_LISTENER, LB_NAT_LIFETIME_EXPIRED);
		return XDP_DROP;
	}
	move.address = known->receiver.address;
	verdict = lb_nat_deliver(ctx, packet, &move, NAT_NO_HEADER);
	count_event(LB_NAT_NO_LISTENER, move.event);
	return verdict;
}

/* Decides the fate of a datagram by its first fragment; 0 when the stack has the later ones. */
static __noinline int lead(const struct xdp_md *ctx, const struct lb_packet *packet,
			   const struct nat_move *move, int decision)
{
	struct lb_fragment_key key = key_of_fragments(ctx, packet);
	struct lb_receiver receiver = {.address = move->address};

	return settle(&key, decision == NAT_MOVE ? LB_FATE_SENT : LB_FATE_DROPPED, &receiver);
}

/* A packet that is not translated: untouched, or dropped when it is malformed and would have been ours. */
static __noinline int refuse(const struct lb_packet *packet, int kind)
{
	if (kind == LB_PARSE_MALFORMED) {
		if ((roles_of(&packet->flow.destination) & LB_NAT_SERVICE) ||
		    (roles_of(&packet->flow.source) & LB_NAT_SERVER)) {
			count_event(LB_NAT_NO_LISTENER, event_of(packet));
			return XDP_DROP;
		}
		count_event(LB_NAT_NO_LISTENER, LB_NAT_UNHANDLED_TRAFFIC);
		return XDP_PASS;
	}
	count_event(LB_NAT_NO_LISTENER, event_of(packet));
	return XDP_PASS;
}

/* An ICMP error. */
static __always_inline int translate_error(struct xdp_md *ctx, const struct lb_packet *packet,
					   struct nat_move *move)
{
	int verdict;

	move->reason = -1;
	switch (lb_nat_error(ctx, packet, move)) {
	case NAT_DROP:
		return XDP_DROP;
	case NAT_UNTOUCHED:
		return XDP_PASS;
	}
	verdict = lb_nat_deliver(ctx, packet, move, NAT_NO_HEADER);
	count_event(lb_nat_row_of(move->listener, move->direction), move->event);
	return verdict;
}

/* Decides again about a client's first packet, with the key of its payload. */
static __always_inline int decide_by_payload(struct xdp_md *ctx, const struct lb_packet *packet,
					     struct nat_move *move)
{
	void *map = bpf_map_lookup_elem(&tables, &move->listener);
	__u32 zero = 0;
	struct lb_table *table = map ? bpf_map_lookup_elem(map, &zero) : 0;

	if (table)
		move->key = lb_payload_key_of(ctx, table, &packet->flow, packet->udp + 8u,
					      lb_payload_in(packet));
	move->has_key = 1;
	return decide(ctx, packet, move);
}

/* Any packet; the verdict. `is_begun`: the fast path has associated its client; `in_stack`: it is in the
 * network stack. A separate function, as leave_to_stack is: the fast path needs no stack frame for it. */
static __noinline int go_the_long_way(struct xdp_md *ctx, int is_begun, int in_stack)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct lb_packet packet;
	struct nat_move move = {};
	int kind, decision, verdict = XDP_DROP;

	kind = LB_PARSE_DATAGRAM;
	if (!parse_plain(data, end, &packet)) {
		/* Before Linux 6.3 a global function accepts only initialised memory. */
		__builtin_memset(&packet, 0, sizeof(packet));
		kind = lb_nat_parse(ctx, &packet);
		packet.in_stack = (__u8)in_stack;
		if (kind == LB_PARSE_ERROR)
			return translate_error(ctx, &packet, &move);
		if (kind == LB_PARSE_LATER)
			return follow(ctx, &packet);
		if (kind != LB_PARSE_DATAGRAM && kind != LB_PARSE_FIRST)
			return refuse(&packet, kind);
	}
	packet.in_stack = (__u8)in_stack;
	decision = decide(ctx, &packet, &move);
	if (decision == NAT_NEEDS_KEY)
		decision = decide_by_payload(ctx, &packet, &move);
	if (is_begun && move.event == LB_NAT_INGRESS_REUSED_NAT)
		move.event = LB_NAT_INGRESS_NEW_NAT;
	if (decision == NAT_UNTOUCHED) {
		count_event(LB_NAT_NO_LISTENER, move.event);
		return XDP_PASS;
	}
	if (kind == LB_PARSE_FIRST && !lead(ctx, &packet, &move, decision)) {
		count_event(LB_NAT_NO_LISTENER, LB_NAT_FRAGMENTED_IP_PACKET);
		return XDP_PASS;
	}
	if (decision == NAT_MOVE)
		verdict = lb_nat_deliver(ctx, &packet, &move, NAT_HAS_HEADER);
	if (verdict == XDP_DROP) {
		count_dropped(&packet, &move);
		return move.mtu ? lb_nat_send_too_long(ctx, &packet, &move) : XDP_DROP;
	}
	if (verdict == XDP_PASS)
		count_event(lb_nat_row_of(move.listener, move.direction), LB_NAT_TO_STACK);
	count_forwarded(&packet, &move);
	return verdict;
}

/* A frame for another host. Not inlined: the programs themselves have no room for a stack frame. */
static __noinline int leave(void)
{
	count_event(LB_NAT_NO_LISTENER, LB_NAT_UNHANDLED_TRAFFIC);
	return XDP_PASS;
}

static __always_inline int translate(struct xdp_md *ctx, int in_stack)
{
	int verdict;

	if (!is_ours(ctx))
		return leave();
	verdict = in_stack ? go_quickly_in_stack(ctx) : go_quickly(ctx);
	return verdict < 0 ? go_the_long_way(ctx, verdict == NAT_LONG_WAY_BEGUN, in_stack)
			   : verdict;
}

/* In the driver: multi-buffer packets, too, as with a large MTU (Linux 5.18). */
SEC("xdp.frags")
int xdp_nat(struct xdp_md *ctx)
{
	return translate(ctx, 0);
}

/* In the network stack, which puts every packet into one buffer. For a multi-buffer program it makes a new
 * skb without its mac_len (skb_pp_cow_data, net/core/skbuff.c, Linux 6.18), and later programs at the TC
 * hook, such as tc_fanout, find no Ethernet header then. */
SEC("xdp")
int xdp_nat_skb(struct xdp_md *ctx)
{
	return translate(ctx, 1);
}

char _license[] SEC("license") = "Dual BSD/GPL";
