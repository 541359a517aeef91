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

#define AF_INET 2
#define AF_INET6 10

/* Whether packets are routed; the loader sets it. */
const volatile __u8 lb_nat_routed = 0;

/* What there is of the transport header to be rewritten. */
enum nat_transport {
	NAT_NO_HEADER,	  /* nothing: a later fragment's data, or done already */
	NAT_HAS_HEADER,	  /* UDP or TCP, where the packet says */
	NAT_PLAIN_HEADER, /* UDP or TCP, where parse_plain found it */
};

/* Sends the frame back where it came from: the two addresses of its header change places. */
static __always_inline void turn_around(__u8 *frame)
{
	__u32 destination = *(__u32 *)frame, source = *(__u32 *)(frame + 6);
	__u16 destination_end = *(__u16 *)(frame + 4), source_end = *(__u16 *)(frame + 10);

	*(__u32 *)frame = source;
	*(__u16 *)(frame + 4) = source_end;
	*(__u32 *)(frame + 6) = destination;
	*(__u16 *)(frame + 10) = destination_end;
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

/* Replaces port and checksum of the header of UDP or TCP; `steps` are those of the addresses. 0 when the
 * packet is too short for it, which the parser rules out. */
static __always_inline int rewrite_transport(__u8 *at, const __u8 *end, __u8 protocol, __u16 port,
					     int is_source, __u64 steps)
{
	__u16 *where = (__u16 *)(is_source ? at : at + 2);
	__u16 *check = (__u16 *)(at + (protocol == LB_IP_TCP ? 16 : 6));
	__u16 to = bpf_htons(port);

	if ((__u8 *)(check + 1) > end)
		return 0;
	steps += lb_csum_step(*where, to);
	*where = to;
	*check = protocol == LB_IP_TCP ? lb_csum_update(*check, steps)
				       : lb_csum_update_udp(*check, steps);
	return 1;
}

/* Replaces the address, the TTL, and what follows from them, in headers at `ip` and `at`. 0 when the packet
 * is too short, which the parser rules out. */
static __always_inline int rewrite_at(__u8 *ip, __u8 *at, const __u8 *end, int is_v6,
				      const struct nat_packet *packet, const struct nat_move *move,
				      enum nat_transport transport)
{
	int is_source = move->direction == LB_NAT_EGRESS;
	struct lb_addr from = is_source ? packet->at.flow.source : packet->at.flow.destination;
	__u64 steps = lb_csum_step_addr(from, move->address, is_v6);
	__u16 *check, *ttl, older;

	if (is_v6) {
		put_addr(is_source ? ip + 8 : ip + 24, move->address, 1);
		if (!move->to_stack)
			ip[7]--;
	} else {
		put_addr(is_source ? ip + 12 : ip + 16, move->address, 0);
		/* TTL and protocol as a word, so that nothing waits for a byte to be stored. */
		ttl = (__u16 *)(ip + 8);
		older = move->to_stack ? *ttl : *ttl - bpf_htons(0x0100);
		check = (__u16 *)(ip + 10);
		*check = lb_csum_update(*check, steps + lb_csum_step(*ttl, older));
		*ttl = older;
	}
	if (transport == NAT_NO_HEADER)
		return 1;
	return rewrite_transport(at, end, packet->protocol, move->port, is_source, steps);
}

static __always_inline int rewrite(struct xdp_md *ctx, const struct nat_packet *packet,
				   const struct nat_move *move, enum nat_transport transport)
{
	__u8 *data = (void *)(long)ctx->data;
	const __u8 *end = (void *)(long)ctx->data_end;
	__u8 *ip, *at;

	/* Nearly all are of this kind, and constants make it quick. */
	if (transport == NAT_PLAIN_HEADER && !packet->at.is_v6)
		return data + 42 <= end &&
		       rewrite_at(data + 14, data + 34, end, 0, packet, move, transport);
	if (transport == NAT_PLAIN_HEADER)
		return data + 62 <= end &&
		       rewrite_at(data + 14, data + 54, end, 1, packet, move, transport);
	at = transport == NAT_NO_HEADER ? data : header_at(ctx, packet->at.udp, 8);
	/* The verifier follows lengths that are constants. */
	if (packet->at.is_v6) {
		ip = header_at(ctx, packet->at.ip, 40);
		return ip && at && rewrite_at(ip, at, end, 1, packet, move, transport);
	}
	ip = header_at(ctx, packet->at.ip, 20);
	return ip && at && rewrite_at(ip, at, end, 0, packet, move, transport);
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
	int is_v6 = packet->at.is_v6, is_source = move->direction == LB_NAT_EGRESS;
	struct lb_addr from = is_source ? move->address : flow->source;
	struct lb_addr to = is_source ? flow->destination : move->address;

	fib->family = is_v6 ? AF_INET6 : AF_INET;
	fib->l4_protocol = packet->protocol;
	fib->sport = bpf_htons(is_source ? move->port : flow->source_port);
	fib->dport = bpf_htons(is_source ? flow->destination_port : move->port);
	fib->tot_len = packet->bytes;
	fib->ifindex = ctx->ingress_ifindex;
	put_addr((__u8 *)fib->ipv6_src, from, is_v6);
	put_addr((__u8 *)fib->ipv6_dst, to, is_v6);
	if (is_v6)
		fib->flowinfo = bpf_htonl((__u32)packet->at.traffic_class << 20);
	else
		fib->tos = packet->at.traffic_class;
	/* A tag belongs to a device of its own, which the stack knows. */
	move->to_stack = packet->at.tags != 0;
	if (move->to_stack)
		return 0;
	switch (bpf_fib_lookup(ctx, fib, sizeof(*fib), 0)) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		return 0;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
		return forbidden(move, LB_NAT_UNREACHABLE, LB_DROP_UNREACHABLE);
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return forbidden(move, LB_NAT_NOT_PERMITTED, LB_DROP_NOT_PERMITTED);
	}
	move->to_stack = 1;
	return 0;
}

/* Routes: translates the packet and sends it out of the interface that its new addresses lead to. */
static __always_inline int route(struct xdp_md *ctx, const struct nat_packet *packet,
				 struct nat_move *move, enum nat_transport transport)
{
	struct bpf_fib_lookup fib = {};
	__u8 *frame;

	if (look_up(ctx, packet, move, &fib))
		return XDP_DROP;
	frame = header_at(ctx, 0, 14);
	if (!frame || !rewrite(ctx, packet, move, transport)) {
		forbidden(move, LB_NAT_REWRITE_FAILED, LB_DROP_REWRITE_FAILED);
		return XDP_DROP;
	}
	if (move->to_stack)
		return XDP_PASS;
	__builtin_memcpy(frame, fib.dmac, 6);
	__builtin_memcpy(frame + 6, fib.smac, 6);
	return fib.ifindex == ctx->ingress_ifindex ? XDP_TX : (int)bpf_redirect(fib.ifindex, 0);
}

/* Translates the packet and sends it. The verdict; with XDP_DROP the move's event and reason say why. */
static __always_inline int deliver(struct xdp_md *ctx, const struct nat_packet *packet,
				   struct nat_move *move, enum nat_transport transport)
{
	__u8 *frame;

	if (lb_nat_routed)
		return route(ctx, packet, move, transport);
	frame = header_at(ctx, 0, 14);
	if (!frame || !rewrite(ctx, packet, move, transport)) {
		forbidden(move, LB_NAT_REWRITE_FAILED, LB_DROP_REWRITE_FAILED);
		return XDP_DROP;
	}
	turn_around(frame);
	return XDP_TX;
}

#endif
