/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_partial.bpf.h: packets in the network stack that were never on a wire: with checksum offload, or
 * merged by the kernel.
 *
 * A host on the same machine offloads the checksum (CHECKSUM_PARTIAL): the checksum field has the sum of
 * the pseudo header, not complemented, and a later device completes it. The kernel does not report this to
 * an XDP program. In a driver packets are as on the wire, so only the program in the stack checks this.
 */
#ifndef LB_NAT_PARTIAL_BPF_H
#define LB_NAT_PARTIAL_BPF_H

#include "nat_parse.bpf.h"

/* Bytes of one sum, and their maximum number. A longer packet cannot come from a wire. */
#define NAT_SUM_BYTES 512
#define NAT_SUM_TURNS 18
_Static_assert(NAT_SUM_BYTES *NAT_SUM_TURNS + LB_HEADERS_MAX <= 0x3fff,
	       "lb_nat_sum_rest masks offsets");

/* The sum of the words of addresses. */
static __always_inline __u64 sum_words(const __u8 *at, __u32 bytes)
{
	__u64 sum = 0;

	for (__u32 i = 0; i < bytes; i += 4)
		sum += LB_LOAD(__u32, at + i);
	return sum;
}

/* Whether it is several packets in one (GRO, GSO): above the interface's MTU. `bytes` of IP packet. */
static __always_inline int is_aggregate(struct xdp_md *ctx, __u32 bytes)
{
	__u32 length = bytes;

	return bpf_check_mtu(ctx, 0, &length, 0, 0) == BPF_MTU_CHK_RET_FRAG_NEEDED;
}

/* The sum of the words of `left` bytes, fewer than NAT_SUM_BYTES, from `start` on; -1 when they are not at
 * hand. Global, so that it is verified once. The compiler must compare with `end` itself for the verifier. */
__noinline int lb_nat_sum_rest(struct xdp_md *ctx, __u32 start, __u32 left)
{
	const __u8 *end = (void *)(long)ctx->data_end;
	const __u8 *at = (void *)((long)ctx->data + (start & 0x3fff));
	__u64 sum = 0;

	for (int i = 0; i < NAT_SUM_BYTES / 4 && left >= 4; i++) {
		LB_OPAQUE(end);
		if (at + 4 > end)
			return -1;
		sum += LB_LOAD(__u32, at);
		at += 4;
		left -= 4;
	}
	for (int i = 0; i < 3 && left; i++) {
		LB_OPAQUE(end);
		if (at + 1 > end)
			return -1;
		sum += i & 1 ? bpf_htons(*at) : bpf_htons((__u16)(*at << 8));
		at++;
		left--;
	}
	return left ? -1 : lb_fold(sum);
}

/* Whether a checksum is correct: the pseudo header's `sum` and `left` bytes from `start` on, with the
 * checksum, sum up to 0xffff. */
static __always_inline int sums_up(struct xdp_md *ctx, __u32 start, __u32 left, __u64 sum)
{
	const __u8 *end = (void *)(long)ctx->data_end;
	const __u8 *at = (void *)((long)ctx->data + (start & 0xff));
	int rest;

	for (int i = 0; i < NAT_SUM_TURNS && left >= NAT_SUM_BYTES; i++) {
		LB_OPAQUE(end);
		if (at + NAT_SUM_BYTES > end)
			return 0;
		sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)at, NAT_SUM_BYTES, 0);
		at += NAT_SUM_BYTES;
		start += NAT_SUM_BYTES;
		left -= NAT_SUM_BYTES;
	}
	rest = lb_nat_sum_rest(ctx, start, left);
	return rest >= 0 && lb_fold(sum + (__u32)rest) == 0xffff;
}

/*
 * Whether the checksum of a whole packet is not complete yet.
 *
 * One in 65536 correct checksums equals the sum that marks an incomplete one, so a packet with that sum
 * that could come from a wire is summed up. One in 65536 incomplete ones then looks correct: they cannot be
 * distinguished.
 *
 * Global, as lb_nat_parse is, so that it is verified once.
 *
 * @ip, @at   the offsets of the headers of IP and of UDP or TCP
 */
__noinline int lb_nat_is_partial(struct xdp_md *ctx, __u32 ip, __u32 at, __u32 protocol,
				 __u32 is_v6)
{
	const __u8 *header = header_at(ctx, ip, 20), *transport;
	__u32 total, bytes;
	__u16 check;
	__u64 sum;

	if (is_v6) {
		header = header_at(ctx, ip, 40);
		if (!header)
			return 0;
		total = lb_be16(header + 4) + 40u;
		sum = sum_words(header + 8, 32);
	} else {
		if (!header)
			return 0;
		total = lb_be16(header + 2);
		sum = sum_words(header + 12, 8);
	}
	if (protocol == LB_IP_TCP) {
		transport = header_at(ctx, at, 20);
		if (!transport)
			return 0;
		bytes = total - (at - ip);
		check = LB_LOAD(__u16, transport + 16);
	} else {
		transport = header_at(ctx, at, 8);
		if (!transport)
			return 0;
		bytes = lb_be16(transport + 4);
		check = LB_LOAD(__u16, transport + 6);
	}
	sum += bpf_htons((__u16)protocol) + bpf_htons((__u16)bytes);
	if (lb_fold(sum) != check)
		return 0;
	return is_aggregate(ctx, total) || !sums_up(ctx, at, bytes, sum);
}

#endif
