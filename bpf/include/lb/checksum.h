/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * checksum.h: incremental updates of Internet checksums (RFC 1624). For XDP and AF_XDP, where the
 * packet is plain memory; an skb has helpers.
 *
 * A step is the change of the sum behind a checksum when one word is replaced. Steps add up: add those
 * of all changes, then update the checksum once. Words are in the byte order of the packet: the sum
 * does not depend on it (RFC 1071, section 2), as long as each word starts at an even offset from the
 * first byte that is summed.
 */
#ifndef LB_CHECKSUM_H
#define LB_CHECKSUM_H

#include "wire.h"

/* The step of a 32-bit word, or of 16 bits in one; at most 33 bits. */
LB_INLINE __u64 lb_csum_step(__u32 from, __u32 to)
{
	return (__u64)(__u32)~from + to;
}

/* The step of a 64-bit word. */
LB_INLINE __u64 lb_csum_step64(__u64 from, __u64 to)
{
	return lb_csum_step((__u32)from, (__u32)to) +
	       lb_csum_step((__u32)(from >> 32), (__u32)(to >> 32));
}

/* The step of an address: four bytes of IPv4, or sixteen. */
LB_INLINE __u64 lb_csum_step_addr(struct lb_addr from, struct lb_addr to, int is_v6)
{
	if (!is_v6)
		return lb_csum_step(LB_SWAP32((__u32)from.low), LB_SWAP32((__u32)to.low));
	return lb_csum_step64(LB_SWAP64(from.high), LB_SWAP64(to.high)) +
	       lb_csum_step64(LB_SWAP64(from.low), LB_SWAP64(to.low));
}

/* The checksum after a sum of steps (RFC 1624, equation 3), all as on the wire. */
LB_INLINE __u16 lb_csum_update(__u16 check, __u64 steps)
{
	return (__u16)~lb_fold((__u16)~check + steps);
}

/* The same for UDP: 0 means none and stays 0, a sum of 0 is sent as 0xffff (RFC 768). */
LB_INLINE __attribute__((always_inline)) __u16 lb_csum_update_udp(__u16 check, __u64 steps)
{
	__u16 updated = lb_csum_update(check, steps);

	if (!check)
		return 0;
	return updated ? updated : 0xffff;
}

#endif
