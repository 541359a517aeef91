/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * balance.bpf.h: the tables of the kernel modes and the lookups in them: key, slot, receiver. Every
 * program that includes this has its own maps; it defines LB_CONTEXT, the type of its context, and
 * LB_PAYLOAD_COPY (payload_key.h) before.
 */
#ifndef LB_BALANCE_BPF_H
#define LB_BALANCE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

/* The loader checks it before it accepts a given object. */
const volatile __u32 lb_abi = LB_ABI_VERSION;
/* The capacity of every table; the loader sets both before it creates the maps. */
const volatile __u32 lb_receivers_max = 64;
const volatile __u32 lb_slots_max = LB_SLOTS_MIN;

struct table_value {
	struct lb_table head;
	/* struct lb_receiver[lb_receivers_max], then __u16[lb_slots_max] */
	__u8 body[64 * sizeof(struct lb_receiver) + LB_SLOTS_MIN * 2];
};

struct table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct table_value));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LB_LISTENERS_MAX);
	__type(key, __u32);
	__array(values, struct table_map);
} tables SEC(".maps");

/* The position of round robin, by listener. A program that chooses for each packet counts on each CPU; one
 * that chooses seldom defines LB_SHARED_ROUND_ROBIN and has one count, so that no receiver is chosen twice
 * in a round. */
struct {
#ifdef LB_SHARED_ROUND_ROBIN
	__uint(type, BPF_MAP_TYPE_ARRAY);
#else
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
#endif
	__uint(max_entries, LB_LISTENERS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} turns SEC(".maps");

/* The key of LB_KEY_PAYLOAD: `bytes` of UDP payload are at `start` of the packet. Global, so that the verifier walks
 * it once. */
__noinline __u32 lb_payload_key_of(LB_CONTEXT *context, const struct lb_table *table,
				   const struct lb_flow *flow, __u32 start, __u32 bytes)
{
	struct lb_payload payload = {.from = context, .start = start, .bytes = bytes};
	struct lb_payload_key key;

	if (!table || !flow)
		return 0;
	key = table->payload;
	return lb_key_payload(table->seed, &key, &payload, flow);
}

/* The other keys. */
static __always_inline __u32 key_of_flow(const struct lb_table *table, const struct lb_flow *flow,
					 int is_v6, __u32 listener)
{
	__u32 *turn, key;

	switch (table->key) {
	case LB_KEY_SOURCE_IP:
		if (!is_v6)
			return lb_key_of_hash(lb_hash_low(table->seed_v4, flow->source.low));
		return lb_key_source_ip(table->seed, flow->source);
	case LB_KEY_FOUR_TUPLE:
		return lb_key_four_tuple(table->seed, flow);
	case LB_KEY_RANDOM:
		return bpf_get_prandom_u32();
	}
	turn = bpf_map_lookup_elem(&turns, &listener);
	if (!turn)
		return 0;
#ifdef LB_SHARED_ROUND_ROBIN
	key = __sync_fetch_and_add(turn, 1);
#else
	/* A number below the number of slots is its own slot, without a division. */
	key = *turn;
	*turn = key + 1 < table->slots ? key + 1 : 0;
#endif
	return key;
}

static __always_inline __u32 key_of(const struct lb_table *table, const struct lb_packet *packet,
				    __u32 listener)
{
	return key_of_flow(table, &packet->flow, packet->is_v6, listener);
}

/* The receiver that owns the key's slot; null if none is ready. */
static __always_inline struct lb_receiver *choose(struct lb_table *table, __u32 key)
{
	void *body = table + 1;
	__u32 slot, index;
	__u16 *owner;

	if (!table->slots)
		return 0;
	/* The mask changes nothing; the verifier cannot follow a 32-bit remainder. */
	slot = lb_slot(key, table->slots) & (LB_SLOTS_MAX - 1);
	if (slot >= lb_slots_max)
		return 0;
	owner = body + lb_receivers_max * sizeof(struct lb_receiver);
	index = owner[slot];
	if (index >= lb_receivers_max)
		return 0;
	return (struct lb_receiver *)body + index;
}

#endif
