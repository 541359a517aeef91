/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * flow_key.h: the hash behind `balance: source_ip` and `balance: four_tuple`.
 *
 * This is the only copy. BPF programs include this header, Swift imports it as the module CDatapath, so
 * a source gets the same receiver in every mode.
 *
 * An address is 128 bits in two host-order words: the first eight bytes on the wire, then the last
 * eight. IPv4 a.b.c.d is ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2), so a client has one key whether
 * it arrives on an IPv4 or on a dual-stack socket. The words are mixed one after the other, not added
 * up: addresses that differ only in the position of the same digits must not collide.
 */
#ifndef LB_FLOW_KEY_H
#define LB_FLOW_KEY_H

#include <linux/types.h>

/* Swift checks that its packet loops have no locks and allocations; these functions are part of them. */
#if defined(__clang__) && !defined(__bpf__)
#define LB_INLINE                                                                                  \
	static inline __attribute__((swift_attr("@_noLocks"), swift_attr("@_noAllocation")))
#else
#define LB_INLINE static inline
#endif

/* Hides from the compiler where a number comes from. The compiler would split
 * `a + 20 <= 134 ? data + a + 20 : 0` and add the two parts separately, and verifiers before Linux 6.18 do
 * not see that the compared number is the added one. */
#ifdef __bpf__
#define LB_OPAQUE(number) __asm__ volatile("" : "+r"(number))
#else
#define LB_OPAQUE(number) ((void)0)
#endif

#define LB_V4_MAPPED_PREFIX 0x0000ffff00000000ULL

struct lb_addr {
	__u64 high; /* bytes 0..7 of the address, host order; 0 for IPv4 */
	__u64 low;  /* bytes 8..15, host order; LB_V4_MAPPED_PREFIX | a.b.c.d for IPv4 */
};

struct lb_flow {
	struct lb_addr source;
	struct lb_addr destination;
	__u16 source_port;	/* host order */
	__u16 destination_port; /* host order */
	__u32 reserved;		/* zero */
};

_Static_assert(sizeof(struct lb_addr) == 16, "lb_addr is two words");
_Static_assert(sizeof(struct lb_flow) == 40, "lb_flow has no hidden padding");

/* A bijection on 64 bits in which every input bit reaches every output bit: the finaliser of
 * MurmurHash3 (Austin Appleby, public domain). */
LB_INLINE __u64 lb_mix64(__u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

LB_INLINE struct lb_addr lb_addr_v4(__u32 host_order)
{
	struct lb_addr address = {0, LB_V4_MAPPED_PREFIX | host_order};
	return address;
}

/* The first half of the hash. It is the same for all IPv4 addresses, that of 0, so a caller that hashes
 * many can keep it. */
LB_INLINE __u64 lb_hash_high(__u64 seed, __u64 high)
{
	return lb_mix64(seed ^ high);
}

LB_INLINE __u64 lb_hash_low(__u64 hash_of_high, __u64 low)
{
	return lb_mix64(hash_of_high ^ low);
}

/* The hash of one address under a seed, 64 bits. */
LB_INLINE __u64 lb_hash_addr(__u64 seed, struct lb_addr address)
{
	return lb_hash_low(lb_hash_high(seed, address.high), address.low);
}

/* The key of an address's hash: the better mixed half, uniform over 32 bits. */
LB_INLINE __u32 lb_key_of_hash(__u64 hash)
{
	return (__u32)(hash >> 32);
}

/* The key of `balance: source_ip`, uniform over 32 bits. */
LB_INLINE __u32 lb_key_source_ip(__u64 seed, struct lb_addr source)
{
	return lb_key_of_hash(lb_hash_addr(seed, source));
}

/* The key of `balance: four_tuple`: both addresses and both ports, in this order. */
LB_INLINE __u32 lb_key_four_tuple(__u64 seed, const struct lb_flow *flow)
{
	__u64 hash = lb_hash_addr(seed, flow->source);
	hash = lb_hash_addr(hash, flow->destination);
	hash = lb_mix64(hash ^ ((__u64)flow->source_port << 16 | flow->destination_port));
	return lb_key_of_hash(hash);
}

/* The slot of a key in a table of `slots` entries: key mod slots, without a division where possible;
 * `slots` is not zero. */
LB_INLINE __u32 lb_slot(__u32 key, __u32 slots)
{
	if (!(slots & (slots - 1)))
		return key & (slots - 1);
	return key < slots ? key : key % slots;
}

#endif
