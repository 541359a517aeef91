/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * slot_table.h: the order in which a member of a hash-keyed slot table prefers the slots.
 *
 * The daemon builds its tables in Swift, the collector library in C. Both use the same orders in round
 * robin, so that they give every slot the same owner (docs/decisions/0003-slot-tables.md).
 */
#ifndef LB_SLOT_TABLE_H
#define LB_SLOT_TABLE_H

#include "flow_key.h"

/* The order is that of first appearance in a stream of random numbers. A slot that appears again is
 * already taken, so repetitions do no harm. The stream is SplitMix64 (Steele et al., OOPSLA 2014),
 * which yields every value once in 2^64 steps, so that every slot appears. */
struct lb_preference {
	__u64 state;
};

/* The order of the member at an address and port; it depends on nothing else. */
LB_INLINE struct lb_preference lb_preference_of(struct lb_addr address, __u16 port)
{
	struct lb_preference preference = {lb_mix64(lb_hash_addr(0, address) ^ port)};
	return preference;
}

/* The next slot of the order, below `slots`. */
LB_INLINE __u32 lb_preference_next(struct lb_preference *preference, __u32 slots)
{
	preference->state += 0x9e3779b97f4a7c15ULL;
	return (__u32)(((lb_mix64(preference->state) >> 32) * slots) >> 32);
}

#endif
