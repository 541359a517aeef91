/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_way.bpf.h: sends a packet, translated by nat_rewrite.bpf.h.
 *
 * One arm: clients and servers are behind the same gateway, or reach the host through it; the frame goes
 * back where it came from. Routed: the kernel's routes decide; when they need the stack (the neighbour is
 * unresolved, the packet must be fragmented, it is for this host, the driver does not transmit XDP frames),
 * the packet goes up translated, with its TTL unchanged, and the stack sends it.
 */
#ifndef LB_NAT_WAY_BPF_H
#define LB_NAT_WAY_BPF_H

#include "nat_maps.bpf.h"
#include "nat_partial.bpf.h"
#include "nat_rewrite.bpf.h"
#include "nat_routes.bpf.h"

/* Sets event and reason when the route forbids the packet; 1 when it does. */
static __always_inline int forbidden(struct nat_move *move, enum lb_nat_event event,
				     enum lb_drop_reason reason)
{
	move->event = event;
	move->reason = reason;
	return 1;
}

/* Whether the stack can split a packet that exceeds the MTU: it may be fragmented, or it is several in one,
 * as nearly all TCP packets above the MTU are. */
static __always_inline int is_divisible(struct xdp_md *ctx, const struct lb_packet *packet)
{
	const __u8 *ip;

	if (packet->in_stack && (packet->protocol == LB_IP_TCP || is_aggregate(ctx, packet->bytes)))
		return 1;
	if (packet->is_v6)
		return 0;
	ip = header_at(ctx, packet->ip, 20);
	/* The flag DF (RFC 791, section 3.1). */
	return ip && !(ip[6] & 0x40);
}

/* Whether a frame that the program sends out of an interface arrives. */
static __always_inline int can_leave(const struct xdp_md *ctx, const struct lb_packet *packet,
				     __u32 interface, __u32 link)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int is_whole = data + packet->ip + packet->bytes <= end;

	/* In the stack any interface transmits. */
	if (packet->in_stack)
		return 1;
	if (interface == ctx->ingress_ifindex)
		return (link & LB_NAT_LINK_TX) != 0;
	return (link & (is_whole ? LB_NAT_LINK_TRANSMITS : LB_NAT_LINK_TRANSMITS_PIECES)) != 0;
}

/* Looks up the route of the translated packet. 0: it is not dropped, and goes to the stack if `to_stack` is
 * set; otherwise `fib` has the way. */
static __always_inline int look_up(struct xdp_md *ctx, const struct lb_packet *packet,
				   struct nat_move *move, struct bpf_fib_lookup *fib)
{
	const struct lb_flow *flow = &packet->flow;
	int is_source = move->direction == LB_NAT_EGRESS;
	struct nat_question asked = {
		.source = is_source ? move->address : flow->source,
		.destination = is_source ? flow->destination : move->address,
		.source_port = is_source ? move->port : flow->source_port,
		.destination_port = is_source ? flow->destination_port : move->port,
		.bytes = packet->bytes,
		.traffic_class = packet->traffic_class,
		.protocol = packet->protocol,
		.from = ctx->ingress_ifindex,
		.is_v6 = packet->is_v6,
	};
	__u32 zero = 0, *word = bpf_map_lookup_elem(&routes, &zero), before = word ? *word : 0;
	struct lb_nat_endpoint *host;
	__u32 link;
	long result;

	/* A tag belongs to a device of its own, which the stack knows. */
	move->to_stack = packet->tags != 0;
	if (move->to_stack)
		return 0;
	result = ask(ctx, &asked, fib);
	/* For IPv6 the host's setting decides, which the loopback's follows (net/ipv6/ip6_output.c,
	 * ip6_forward), but the lookup uses the interface's. */
	if (result == BPF_FIB_LKUP_RET_FWD_DISABLED && asked.is_v6) {
		fib->ifindex = LOOPBACK_IFINDEX;
		result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
		move->to_stack = 1;
	}
	switch (result) {
	case BPF_FIB_LKUP_RET_SUCCESS:
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		link = link_of(fib->ifindex);
		if (link & LB_NAT_LINK_DOWN)
			return forbidden(move, LB_NAT_UNREACHABLE, LB_DROP_UNREACHABLE);
		if (result == BPF_FIB_LKUP_RET_NO_NEIGH ||
		    !can_leave(ctx, packet, fib->ifindex, link))
			move->to_stack = 1;
		if (move->to_stack)
			return 0;
		if (packet->protocol == LB_IP_UDP && !packet->fragment)
			keep_way(&asked, fib, before);
		return 0;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
		return forbidden(move, LB_NAT_UNREACHABLE, LB_DROP_UNREACHABLE);
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return forbidden(move, LB_NAT_NOT_PERMITTED, LB_DROP_NOT_PERMITTED);
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		if (is_divisible(ctx, packet))
			break;
		move->mtu = fib->mtu_result;
		return forbidden(move, LB_NAT_MESSAGE_TOO_LONG, LB_DROP_MESSAGE_TOO_LONG);
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
	case BPF_FIB_LKUP_RET_NOT_FWDED:
		/* The stack would drop it silently, unless it is for this host. Without roles_of, whose stack
		 * frame would be one too many here. */
		host = find_endpoint(asked.destination, 0, 0);
		if (!host || !(host->roles & LB_NAT_HOST))
			return forbidden(move, LB_NAT_UNREACHABLE, LB_DROP_UNREACHABLE);
	}
	move->to_stack = 1;
	return 0;
}

/* Routes: translates the packet and sends it out of the interface for its new addresses. */
static __always_inline int route(struct xdp_md *ctx, const struct lb_packet *packet,
				 struct nat_move *move, enum nat_transport transport,
				 int is_partial)
{
	struct bpf_fib_lookup fib = {};
	__u8 *frame;

	if (look_up(ctx, packet, move, &fib))
		return XDP_DROP;
	frame = header_at(ctx, 0, 14);
	if (!frame || !rewrite(ctx, packet, move, transport, is_partial)) {
		forbidden(move, LB_NAT_REWRITE_FAILED, LB_DROP_REWRITE_FAILED);
		return XDP_DROP;
	}
	if (move->to_stack)
		return XDP_PASS;
	__builtin_memcpy(frame, fib.dmac, 6);
	__builtin_memcpy(frame + 6, fib.smac, 6);
	return fib.ifindex == ctx->ingress_ifindex ? XDP_TX : (int)bpf_redirect(fib.ifindex, 0);
}

/* Translates the packet and sends it. The verdict; with XDP_DROP the move has the event and the reason.
 * Global, as lb_nat_parse is, so that it is verified once. */
__noinline int lb_nat_deliver(struct xdp_md *ctx, const struct lb_packet *packet,
			      struct nat_move *move, enum nat_transport transport)
{
	int is_partial = 0;
	__u8 *frame;

	if (!packet || !move)
		return XDP_DROP;
	/* The sender of fragments has computed the checksum.
	 *
	 * Checked before any load from the context: where a call is on one of two paths that join, the
	 * compiler merges the ends of the packet that were loaded before and after it into one value, a 32-bit
	 * field copied as 32 bits, although the kernel puts a pointer there. */
	if (packet->in_stack && transport == NAT_HAS_HEADER && !packet->fragment)
		is_partial = lb_nat_is_partial(ctx, packet->ip, packet->udp, packet->protocol,
					       packet->is_v6) != 0;
	if (lb_nat_routed)
		return route(ctx, packet, move, transport, is_partial);
	frame = header_at(ctx, 0, 14);
	if (!frame || !rewrite(ctx, packet, move, transport, is_partial)) {
		forbidden(move, LB_NAT_REWRITE_FAILED, LB_DROP_REWRITE_FAILED);
		return XDP_DROP;
	}
	turn_around(frame);
	return XDP_TX;
}

#endif
