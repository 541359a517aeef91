/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* limits.h: the sizes that the kernel programs and the daemon share. */
#ifndef LB_LIMITS_H
#define LB_LIMITS_H

/* Raised whenever a layout, a hash or a meaning in these headers changes. */
#define LB_ABI_VERSION 3

/* Receivers that one listener can name; a slot holds an index below this. */
#define LB_DOWNSTREAMS_MAX 1024

/*
 * Slots per receiver of a hash-keyed table, and its minimum of slots. With these, the share of each
 * receiver is within one per cent of its weight. When a receiver leaves, below two per cent of the keys
 * of other receivers move (docs/decisions/0003-slot-tables.md has the measurement).
 */
#define LB_SLOTS_PER_DOWNSTREAM 128
#define LB_SLOTS_MIN 16384

/* Longest table. */
#define LB_SLOTS_MAX 131072

_Static_assert(LB_SLOTS_MAX == LB_DOWNSTREAMS_MAX * LB_SLOTS_PER_DOWNSTREAM,
	       "a full listener must fit the longest slot table");
_Static_assert(LB_DOWNSTREAMS_MAX <= 0xffff, "a slot is a 16-bit index");

#endif
