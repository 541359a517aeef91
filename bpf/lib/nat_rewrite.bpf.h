/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_rewrite.bpf.h: replaces addresses and ports in a packet, and updates the checksums.
 */
#ifndef LB_NAT_REWRITE_BPF_H
#define LB_NAT_REWRITE_BPF_H

#include "nat_maps.bpf.h"

/* The transport header to rewrite. */
enum nat_transport {
	NAT_NO_HEADER,	/* nothing: a later fragment's data, or done already */
	NAT_HAS_HEADER, /* UDP or TCP */
};

/* Swaps the two addresses of the frame's header, to send it back. */
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

/* The replacement in a packet. */
struct nat_change {
	struct lb_addr address;
	__u16 port; /* host order */
	__u8 protocol;
	__u8 is_source; /* the source is replaced; else the destination */
	__u8 keeps_ttl;
	__u8 is_v6;
	__u8 is_partial; /* its checksum is incomplete: lb_nat_is_partial */
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
		/* The sum of addresses, length and protocol; the device that completes it adds the ports. */
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

/* Replaces an address; the steps of that. */
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

/* Replaces the address, the TTL and the checksums in headers at `ip` and `at`. 0 when the packet is too
 * short, which the parser rules out. */
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
		/* TTL and protocol as a word, so that no load waits for the store of a byte. */
		*ttl -= bpf_htons(0x0100);
		*check = lb_csum_update(*check, steps + lb_csum_step(bpf_htons(0x0100), 0));
	}
	if (transport == NAT_NO_HEADER)
		return 1;
	return rewrite_transport(at, end, change, steps);
}

static __always_inline int rewrite(struct xdp_md *ctx, const struct lb_packet *packet,
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

	at = transport == NAT_NO_HEADER ? data : header_at(ctx, packet->udp, 8);
	/* The verifier follows lengths that are constants. */
	if (packet->is_v6) {
		ip = header_at(ctx, packet->ip, 40);
		change.is_v6 = 1;
		return ip && at && rewrite_at(ip, at, end, &change, transport);
	}
	ip = header_at(ctx, packet->ip, 20);
	return ip && at && rewrite_at(ip, at, end, &change, transport);
}

#endif
