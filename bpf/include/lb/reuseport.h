/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * reuseport.h: shared by the program of a SO_REUSEPORT group and the library that loads it: the
 * values of the pinned maps, and the fallback for a closed member.
 */
#ifndef LB_REUSEPORT_H
#define LB_REUSEPORT_H

#include "flow_key.h"
#include "limits.h"
#include "payload_key.h"

/* The version of the pins' layout, in the record of the group. */
#define LB_REUSEPORT_ABI 4

/* The highest capacity of a group, that is slots for sockets of each protocol, and the default. */
#define LB_MEMBERS_MAX 1024
#define LB_CAPACITY 128

/* The highest number of flows that a group remembers. */
#define LB_FLOWS_MAX (1 << 20)

/* Sockets of a slot: the current one and, while it is being replaced, the previous one. */
#define LB_PLACES 2

enum lb_reuseport_protocol {
	LB_REUSEPORT_UDP = 0,
	LB_REUSEPORT_TCP = 1,
	LB_REUSEPORT_PROTOCOLS,
};

/* Which flow key a group hashes; fixed when the program is loaded. */
enum lb_reuseport_key {
	LB_REUSEPORT_SOURCE_IP = 1,
	LB_REUSEPORT_FOUR_TUPLE = 2,
	LB_REUSEPORT_ROUND_ROBIN = 3, /* a counter a CPU */
	LB_REUSEPORT_RANDOM = 4,
	LB_REUSEPORT_PAYLOAD = 5, /* bytes of the UDP payload (payload_key.h) */
	LB_REUSEPORT_CPU = 6,	  /* the CPU that handles the packet */
};

/* The one constant of the program, in its map .rodata. */
struct lb_reuseport_constants {
	__u32 key; /* enum lb_reuseport_key */
	__u32 capacity;
	__u32 slots; /* lb_reuseport_slots(capacity) */
	__u32 flows; /* entries of the map `flows`; 0: the program does not use it */
	struct lb_payload_key payload; /* of LB_REUSEPORT_PAYLOAD; else zero */
};

/* Whether a group has a hashed table, with all slots. */
LB_INLINE int lb_reuseport_is_hashed(__u32 key)
{
	return key == LB_REUSEPORT_SOURCE_IP || key == LB_REUSEPORT_FOUR_TUPLE ||
	       key == LB_REUSEPORT_PAYLOAD;
}

/* Slots of a hashed table: a power of two, and those of the daemon's table for as many receivers (limits.h) if the
 * capacity is one too. It does not depend on the count, so that a resize moves few sources. */
LB_INLINE __u32 lb_reuseport_slots(__u32 capacity)
{
	__u32 slots = LB_SLOTS_MIN;

	while (slots < capacity * LB_SLOTS_PER_DOWNSTREAM)
		slots *= 2;
	return slots;
}

/* Map `slots`, one value: the slot table. The library writes it while the program reads, which is safe since each
 * owner is valid before and after, and the kernel copies whole words. */
struct lb_reuseport_table {
	__u64 seed;    /* of the hash; the map `nonce` shows it */
	__u64 seed_v4; /* lb_hash_high(seed, 0) */
	__u32 count;   /* members that the group is meant to have; the map `size` shows it */
	__u32 slots;   /* how many entries of `owner` are in use */
	/* Which place has the current socket of a slot: 0 is udp_balancing_targets or
	 * tcp_balancing_targets, 1 is udp_second_place or tcp_second_place. A kernel's socket is in
	 * one such map at most, so the current one never moves: the byte changes instead. */
	__u8 place[LB_REUSEPORT_PROTOCOLS][LB_MEMBERS_MAX];
	__u16 owner[LB_SLOTS_MAX];
};

/* Map `counters`, per CPU, written by the program: a row a slot, then LB_REUSEPORT_LEFT and LB_REUSEPORT_FLOWS. Summed
 * over all slots, selected + missed = packets, and missed = fallback + left to the kernel. */
struct lb_reuseport_counters {
	__u64 selected; /* the member was the first choice and took it */
	__u64 fallback; /* the member was the fallback for a closed one */
	__u64 missed;	/* the member was the first choice and was closed */
};

/* The rows after those of the slots: `missed` counts packets that were left to the kernel's own choice, because the
 * group was empty, and packets of flows that the map `flows` did not have. */
#define LB_REUSEPORT_LEFT(capacity) (capacity)
#define LB_REUSEPORT_FLOWS(capacity) ((capacity) + 1)
#define LB_REUSEPORT_ROWS 2

enum lb_reuseport_state {
	LB_REUSEPORT_BUILDING = 0, /* its creator has not finished, or died */
	LB_REUSEPORT_READY = 1,
	LB_REUSEPORT_PRIVATE = 2,  /* never pinned */
	LB_REUSEPORT_REPLACED = 3, /* replaced by another pinned group */
};

/* Map `group`, one value, written by the library under the lock of the pin folder. */
struct lb_reuseport_group {
	__u32 abi;		/* LB_REUSEPORT_ABI; stays the first word in every version */
	__u32 state;		/* enum lb_reuseport_state */
	__u32 key;		/* enum lb_reuseport_key */
	__u16 family;		/* AF_INET or AF_INET6; 0: no socket has joined yet */
	__u16 port;		/* host order */
	struct lb_addr address; /* what the members are bound to */
	__u64 netns;		/* the members' network namespace (SO_NETNS_COOKIE); 0: unknown */
	__u32 device;		/* the interface they are bound to (SO_BINDTOIFINDEX); 0: none */
	__u32 v6only;		/* 1: IPV6_V6ONLY */
	__u32 capacity;		/* 1..LB_MEMBERS_MAX */
	__u32 flows;		/* entries of the map `flows`; 0: none */
	struct lb_payload_key payload; /* of LB_REUSEPORT_PAYLOAD; else zero */
};

/* Maps `udp_members` and `tcp_members`, written by the library when a socket joins: row
 * place * capacity + slot. A row is valid as long as the socket in that place has this cookie. */
struct lb_reuseport_member {
	__u64 cookie;	 /* SO_COOKIE of the socket */
	__u64 joined_ns; /* CLOCK_REALTIME */
	__u32 pid;	 /* of the process that joined, in its own pid namespace */
	__u32 uid;
	__u64 generation; /* 1 for the first socket of the slot, one more for each later one */
};

_Static_assert(sizeof(struct lb_reuseport_table) ==
		       24 + 2 * LB_SLOTS_MAX + LB_REUSEPORT_PROTOCOLS * LB_MEMBERS_MAX,
	       "no hidden padding");
_Static_assert(sizeof(struct lb_reuseport_counters) == 24, "three words");
_Static_assert(sizeof(struct lb_reuseport_group) == 64, "no hidden padding");
_Static_assert(sizeof(struct lb_reuseport_constants) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_reuseport_member) == 32, "no hidden padding");
_Static_assert((LB_MEMBERS_MAX & (LB_MEMBERS_MAX - 1)) == 0, "a slot is masked");

/* Keys tried before the members one after another. If half of a group is closed, eight of them all miss in one
 * case of 256. */
#define LB_FALLBACK_KEYS 8

/* The key for the choice when the first `attempt` choices are closed; `attempt` counts from 1. It
 * depends on nothing else, so all programs agree on the fallback. */
LB_INLINE __u32 lb_fallback_key(__u32 key, __u32 attempt)
{
	return (__u32)(lb_mix64((__u64)attempt << 32 | key) >> 32);
}

#endif
