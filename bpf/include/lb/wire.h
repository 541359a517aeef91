/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* wire.h: words and addresses in a packet. */
#ifndef LB_WIRE_H
#define LB_WIRE_H

#include "flow_key.h"

/* Words of a header, at any alignment. For BPF clang would read them byte by byte, although the
 * kernel's verifier allows a plain load. */
#ifdef __bpf__
#define LB_LOAD(type, at) (*(const type *)(at))
#else
#define LB_LOAD(type, at) (((const struct { type value; } __attribute__((packed)) *)(at))->value)
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LB_SWAP16(x) __builtin_bswap16(x)
#define LB_SWAP32(x) __builtin_bswap32(x)
#define LB_SWAP64(x) __builtin_bswap64(x)
#else
#define LB_SWAP16(x) (x)
#define LB_SWAP32(x) (x)
#define LB_SWAP64(x) (x)
#endif

LB_INLINE __u16 lb_be16(const __u8 *at)
{
	return LB_SWAP16(LB_LOAD(__u16, at));
}

LB_INLINE __u32 lb_be32(const __u8 *at)
{
	return LB_SWAP32(LB_LOAD(__u32, at));
}

LB_INLINE __u64 lb_be64(const __u8 *at)
{
	return LB_SWAP64(LB_LOAD(__u64, at));
}

LB_INLINE struct lb_addr lb_addr_v6(const __u8 *at)
{
	struct lb_addr address = {lb_be64(at), lb_be64(at + 8)};
	return address;
}

/* A sum of 16-bit words, in any byte order, with its carries added back in (RFC 1071). */
LB_INLINE __u16 lb_fold(__u64 sum)
{
	/* At most 33 bits, then 18, then 17 with no more than a carry in the last one, which is added back. */
	sum = (__u32)sum + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)(sum + (sum >> 16));
}

/* The sum of an IPv4 header without its options. */
LB_INLINE __u64 lb_sum_v4(const __u8 *at)
{
	__u64 sum = 0;

	for (int i = 0; i < 20; i += 4)
		sum += LB_LOAD(__u32, at + i);
	return sum;
}

/* Addresses between which no host accepts a datagram (RFC 1122, section 3.2.1.3): "this network", the
 * broadcast address, multicast, which is for members only. */
LB_INLINE int lb_is_martian_v4(__u32 address)
{
	return address >> 24 == 0 || address >> 28 == 0xe || address == 0xffffffff;
}

/* The same for IPv6 (RFC 4291): multicast, unspecified, and IPv4-mapped addresses. */
LB_INLINE int lb_is_martian_v6(struct lb_addr address)
{
	if (address.high)
		return address.high >> 56 == 0xff;
	return !address.low || address.low >> 32 == LB_V4_MAPPED_PREFIX >> 32;
}

/* A loopback address, which is valid only on the loopback interface. */
LB_INLINE int lb_is_loopback(struct lb_addr address)
{
	return !address.high &&
	       (address.low == 1 || address.low >> 24 == (LB_V4_MAPPED_PREFIX | 127u << 24) >> 24);
}

#endif
