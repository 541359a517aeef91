/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_way.bpf.h: translates a packet and sends it.
 *
 * One arm: clients and servers are behind the same gateway, or reach the host through it; the frame goes
 * back where it came from. Routed: the kernel's routes say where; when they need the stack (the neighbour's
 * address is not known, the packet is longer than the link takes, it is for this host), it goes up
 * translated, with its TTL as it was, and the stack goes on with it.
 */
#ifndef LB_NAT_WAY_BPF_H
#define LB_NAT_WAY_BPF_H

#include "nat_maps.bpf.h"
#include "nat_partial.bpf.h"
#include "nat_routes.bpf.h"

/* What there is of the transport header to be rewritten. */
enum nat_transport {
	NAT_NO_HEADER,	/* nothing: a later fragment's data, or done already */
	NAT_HAS_HEADER, /* UDP or TCP */
};

/* Sends the frame back where it came from: the two addresses of its header change places. */
static __always_inline void turn_around(__u8 *frame)
{
	__u64 start = *(__u64 *)frame;
	__u32 rest = *(__u32 *)(frame + 8);

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	*(__u64 *)frame = start >> 48 | (__u64)rest << 16 | start << 48;
	*(__u32 *)(frame + 8) = (__u32)(start >> 16);
#else
	*(__u64 *)frame = start << 48 | (__u64)rest << 16 | start >> 48;
	*(__u32 *)(frame + 8) = (__u32)(start >> 16);
#endif
}

static __always_inline void put_addr(__u8 *at, struct lb_addr address, int is_v6)
{
	if (is_v6) {
		*(__u64 *)at = bpf_cpu_to_be64(address.high);
		*(__u64 *)(at + 8) = bpf_cpu_to_be64(address.low);
	} else {
		*(__u32 *)at = bpf_htonl((__u32)address.low);
	}
}

static __always_inline struct lb_addr addr_at(const __u8 *at, int is_v6)
{
	return is_v6 ? lb_addr_v6(at) : lb_addr_v4(lb_be32(at));
}

/* What is replaced in a packet. */
struct nat_change {
	struct lb_addr address;
	__u16 port; /* host order */
	__u8 protocol;
	__u8 is_source; /* the source is replaced; else the destination */
	__u8 keeps_ttl;
	__u8 is_v6;
	__u8 is_partial; /* its checksum is yet to be made: lb_nat_is_partial */
};

/* Replaces port and checksum of the header of UDP or TCP; `steps` are those of the addresses. 0 when the
 * packet is too short for it, which the parser rules out. */
static __always_inline int rewrite_transport(__u8 *at, const __u8 *end,
					     const struct nat_change *change, __u64 steps)
{
	__u16 *where = (__u16 *)(change->is_source ? at : at + 2);
	__u16 *check = (__u16 *)(at + (change->protocol == LB_IP_TCP ? 16 : 6));
	__u16 to = bpf_htons(change->port);

	if ((__u8 *)(check + 1) > end)
		return 0;
	if (change->is_partial) {
		/* The sum of addresses, length and protocol; who makes the checksum adds the ports. */
		*where = to;
		*check = lb_fold(*check + steps);
		return 1;
	}
	steps += lb_csum_step(*where, to);
	*where = to;
	*check = change->protocol == LB_IP_TCP ? lb_csum_update(*check, steps)
					       : lb_csum_update_udp(*check, steps);
	return 1;
}

/* Puts an address in another's place; the steps of that. */
static __always_inline __u64 replace_addr(__u8 *at, struct lb_addr address, int is_v6)
{
	__u64 *wide = (__u64 *)at, high = bpf_cpu_to_be64(address.high), steps;
	__u64 low = bpf_cpu_to_be64(address.low);
	__u32 *narrow = (__u32 *)at, v4 = bpf_htonl((__u32)address.low);

	if (!is_v6) {
		steps = lb_csum_step(*narrow, v4);
		*narrow = v4;
		return steps;
	}
	steps = lb_csum_step64(wide[0], high) + lb_csum_step64(wide[1], low);
	wide[0] = high;
	wide[1] = low;
	return steps;
}

/* Replaces the address, the TTL, and what follows from them, in headers at `ip` and `at`. 0 when the packet
 * is too short, which the parser rules out. */
static __always_inline int rewrite_at(__u8 *ip, __u8 *at, const __u8 *end,
				      const struct nat_change *change, enum nat_transport transport)
{
	int is_source = change->is_source, is_v6 = change->is_v6;
	__u64 steps = replace_addr(ip + (is_v6	     ? is_source ? 8 : 24
					 : is_source ? 12
						     : 16),
				   change->address, is_v6);
	__u16 *check = (__u16 *)(ip + 10), *ttl = (__u16 *)(ip + 8);

	if (is_v6) {
		if (!change->keeps_ttl)
			ip[7]--;
	} else if (change->keeps_ttl) {
		*check = lb_csum_update(*check, steps);
	} else {
		/* TTL and protocol as a word, so that nothing waits for a byte to be stored. */
		*ttl -= bpf_htons(0x0100);
		*check = lb_csum_update(*check, steps + lb_csum_step(bpf_htons(0x0100), 0));
	}
	if (transport == NAT_NO_HEADER)
		return 1;
	return rewrite_transport(at, end, change, steps);
}

static __always_inline int rewrite(struct xdp_md *ctx, const struct nat_packet *packet,
				   const struct nat_move *move, enum nat_transport transport,
				   int is_partial)
{
	__u8 *data = (void *)(long)ctx->data;
	const __u8 *end = (void *)(long)ctx->data_end;
	int is_source = move->direction == LB_NAT_EGRESS;
	struct nat_change change = {
		.address = move->address,
		.port = move->port,
		.protocol = packet->protocol,
		.is_source = (__u8)is_source,
		.keeps_ttl = move->to_stack,
		.is_partial = (__u8)is_partial,
	};
	__u8 *ip, *at;

	at = transport == NAT_NO_HEADER ? data : header_at(ctx, packet->at.udp, 8);
	/* The verifier follows lengths that are constants. */
	if (packet->at.is_v6) {
		ip = header_at(ctx, packet->at.ip, 40);
		change.is_v6 = 1;
		return ip && at && rewrite_at(ip, at, end, &change, transport);
	}
	ip = header_at(ctx, packet->at.ip, 20);
	return ip && at && rewrite_at(ip, at, end, &change, transport);
}

/* Why the route forbids the packet, filled in as event and reason; 1 when it does. */
static __always_inline int forbidden(struct nat_move *move, enum lb_nat_event event,
				     enum lb_drop_reason reason)
{
	move->event = event;
	move->reason = reason;
	return 1;
}

/* Looks up the route of the packet as it will be. 0: it is not to be dropped, and is to go to the stack if
 * `to_stack` says so; else `fib` has the way. */
static __always_inline int look_up(struct xdp_md *ctx, const struct nat_packet *packet,
				   struct nat_move *move, struct bpf_fib_lookup *fib)
{
	const struct lb_flow *flow = &packet->at.flow;
	int is_source = move->direction == LB_NAT_EGRESS;
	struct nat_question asked = {
		.source = is_source ? move->address : flow->source,
		.destination = is_source ? flow->destination : move->address,
		.source_port = is_source ? move->port : flow->source_port,
		.destination_port = is_source ? flow->destination_port : move->port,
		.bytes = packet->bytes,
		.traffic_class = packet->at.traffic_class,
		.protocol = packet->protocol,
		.from = ctx->ingress_ifindex,
		.is_v6 = packet->at.is_v6,
	};
	__u32 zero = 0, *word = bpf_map_lookup_elem(&routes, &zero), before = word ? *word : 0;
	struct lb_nat_endpoint *host;
	long result;

	/* A tag belongs to a device of its own, which the stack knows. */
	move->to_stack = packet->at.tags != 0;
	if (move->to_stack)
		return 0;
	result = ask(ctx, &asked, fib);
	/* Of IPv6 it is the host that forwards, not the interface, which the loopback's setting follows
	 * (net/ipv6/ip6_output.c, ip6_forward); the lookup goes by the interface's. */
	if (result == BPF_FIB_LKUP_RET_FWD_DISABLED && asked.is_v6) {
		fib->ifindex = LOOPBACK_IFINDEX;
		result = bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
		move->to_stack = 1;
	}
	switch (result) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		if (move->to_stack)
			return 0;
		if (packet->protocol == LB_IP_UDP && !packet->at.fragment)
			keep_way(&asked, fib, before);
		return 0;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
		return forbidden(move, LB_NAT_UNREACHABLE, LB_DROP_UNREACHABLE);
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return forbidden(move, LB_NAT_NOT_PERMITTED, LB_DROP_NOT_PERMITTED);
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
	case BPF_FIB_LKUP_RET_NOT_FWDED:
		/* The stack would drop it without a word, unless it is for this host. Not by roles_of, whose
		 * stack would be one too many here. */
		host = find_endpoint(asked.destination, 0, 0);
		if (!host || !(host->roles & LB_NAT_HOST))
			return forbidden(move, LB_NAT_UNREACHABLE, LB_DROP_UNREACHABLE);
	}
	move->to_stack = 1;
	return 0;
}

/* Routes: translates the packet and sends it out of the interface that its new addresses lead to. */
static __always_inline int route(struct xdp_md *ctx, const struct nat_packet *packet,
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

/* Translates the packet and sends it. The verdict; with XDP_DROP the move's event and reason say why. Global,
 * as lb_nat_parse is, to be verified once. */
__noinline int lb_nat_deliver(struct xdp_md *ctx, const struct nat_packet *packet,
			      struct nat_move *move, enum nat_transport transport)
{
	int is_partial = 0;
	__u8 *frame;

	if (!packet || !move)
		return XDP_DROP;
	/* A sender makes the checksum of what it cuts into fragments.
	 *
	 * Asked before anything is loaded from the context: where a call is on one of two ways that meet, the
	 * compiler makes one value of the ends of the packet that were loaded before and after it, and of a
	 * field of 32 bits that is a copy of 32 bits, though the kernel puts a pointer there. */
	if (packet->in_stack && transport == NAT_HAS_HEADER && !packet->at.fragment)
		is_partial = lb_nat_is_partial(ctx, packet->at.ip, packet->at.udp, packet->protocol,
					       packet->at.is_v6) != 0;
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
