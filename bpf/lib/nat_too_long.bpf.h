/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_too_long.bpf.h: informs a sender that its packet exceeds the MTU of the way to the other end: ICMP
 * "fragmentation needed" (RFC 1191, section 4) or ICMPv6 "packet too big" (RFC 4443, section 3.2).
 *
 * The stack cannot do it: it would quote the rewritten packet, which the sender does not know. So the packet
 * becomes the error, in place: new headers come before it, and quote its own beginning.
 */
#ifndef LB_NAT_TOO_LONG_BPF_H
#define LB_NAT_TOO_LONG_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "nat_maps.bpf.h"
#include "nat_partial.bpf.h"
#include "nat_way.bpf.h"

/* The limit of errors of a CPU in a second (RFC 1812, section 4.3.2.8; RFC 4443, section 2.4 (f)). */
#define NAT_ERRORS_PER_SECOND 250

/* The quoted bytes of the packet: all headers up to the limit, with the first eight bytes after them. A
 * packet above the MTU has more: no link has a smaller one (RFC 791, RFC 8200). */
#define NAT_QUOTED_V4 68
#define NAT_QUOTED_V6 136
_Static_assert(14 + NAT_QUOTED_V6 >= LB_HEADERS_MAX + 8, "the ports are quoted");

struct nat_error_rate {
	__u64 second; /* of CLOCK_MONOTONIC */
	__u64 errors; /* sent in it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nat_error_rate);
} error_rates SEC(".maps");

static __always_inline int may_send_error(void)
{
	__u64 second = bpf_ktime_get_ns() / 1000000000;
	__u32 zero = 0;
	struct nat_error_rate *all = bpf_map_lookup_elem(&error_rates, &zero);

	if (!all)
		return 0;
	if (all->second != second) {
		all->second = second;
		all->errors = 0;
	}
	return all->errors++ < NAT_ERRORS_PER_SECOND;
}

/* Makes room for `bytes` of headers after the Ethernet header, truncates the packet after `quoted` bytes,
 * and turns the frame around. Its beginning; null when that fails. */
static __always_inline __u8 *make_room(struct xdp_md *ctx, __u32 bytes, __u32 quoted)
{
	__u32 all = 14 + bytes + quoted;
	__u8 *data, *end;

	if (bpf_xdp_adjust_head(ctx, -(int)bytes) ||
	    bpf_xdp_adjust_tail(ctx, (int)all - (int)bpf_xdp_get_buff_len(ctx)))
		return 0;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + all > end)
		return 0;
	__builtin_memmove(data, data + bytes, 14);
	turn_around(data);
	return data;
}

static __always_inline int send_error_v4(struct xdp_md *ctx, struct lb_addr from, struct lb_addr to,
					 __u32 mtu)
{
	__u8 *frame = make_room(ctx, 28, NAT_QUOTED_V4), *ip, *icmp;

	if (!frame)
		return XDP_DROP;
	ip = frame + 14;
	icmp = ip + 20;
	/* Internetwork control (RFC 1812, section 4.3.2.5). */
	*(__u32 *)ip = bpf_htonl(0x45c00000 | (28 + NAT_QUOTED_V4));
	*(__u32 *)(ip + 4) = bpf_htonl(0x4000);
	*(__u32 *)(ip + 8) = bpf_htonl(64u << 24 | LB_IP_ICMP << 16);
	put_addr(ip + 12, from, 0);
	put_addr(ip + 16, to, 0);
	*(__u16 *)(ip + 10) = (__u16)~lb_fold(lb_sum_v4(ip));
	*(__u32 *)icmp = bpf_htonl(0x03040000);
	*(__u32 *)(icmp + 4) = bpf_htonl(mtu);
	*(__u16 *)(icmp + 2) =
		(__u16)~lb_fold((__u32)bpf_csum_diff(0, 0, (__be32 *)icmp, 8 + NAT_QUOTED_V4, 0));
	return XDP_TX;
}

static __always_inline int send_error_v6(struct xdp_md *ctx, struct lb_addr from, struct lb_addr to,
					 __u32 mtu)
{
	__u8 *frame = make_room(ctx, 48, NAT_QUOTED_V6), *ip, *icmp;
	__u64 sum;

	if (!frame)
		return XDP_DROP;
	ip = frame + 14;
	icmp = ip + 40;
	*(__u32 *)ip = bpf_htonl(0x60000000);
	*(__u32 *)(ip + 4) = bpf_htonl((8u + NAT_QUOTED_V6) << 16 | LB_IP_ICMPV6 << 8 | 64);
	put_addr(ip + 8, from, 1);
	put_addr(ip + 24, to, 1);
	*(__u32 *)icmp = bpf_htonl(0x02000000);
	*(__u32 *)(icmp + 4) = bpf_htonl(mtu);
	sum = sum_words(ip + 8, 32) + bpf_htons(8 + NAT_QUOTED_V6) + bpf_htons(LB_IP_ICMPV6);
	sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)icmp, 8 + NAT_QUOTED_V6, 0);
	*(__u16 *)(icmp + 2) = (__u16)~lb_fold(sum);
	return XDP_TX;
}

/*
 * Turns a packet that deliver refused for its length, and that is unchanged, into the error for its sender,
 * in the name of the service. The verdict; XDP_DROP above the rate limit.
 *
 * Only a packet without tags is looked up, so its header begins at 14. Global, as lb_nat_parse is.
 */
__noinline int lb_nat_send_too_long(struct xdp_md *ctx, const struct lb_packet *packet,
				    const struct nat_move *move)
{
	struct lb_addr service;
	int verdict;

	if (!packet || !move || !may_send_error())
		return XDP_DROP;
	service = move->direction == LB_NAT_EGRESS ? move->address : packet->flow.destination;
	verdict = packet->is_v6 ? send_error_v6(ctx, service, packet->flow.source, move->mtu)
				: send_error_v4(ctx, service, packet->flow.source, move->mtu);
	/* A veth delivers XDP_TX frames only while its peer has a program (veth_xdp_flush). */
	if (verdict == XDP_TX && !packet->in_stack &&
	    link_of(ctx->ingress_ifindex) & LB_NAT_LINK_TRANSMITS)
		return (int)bpf_redirect(ctx->ingress_ifindex, 0);
	return verdict;
}

#endif
