/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * tables.bpf.h: the maps of the kernel modes and the way through them: listener, key, slot, receiver,
 * counters. Every program that includes this has the maps of its own.
 */
#ifndef LB_TABLES_BPF_H
#define LB_TABLES_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

/* What the loader checks before it trusts an object that it was given. */
const volatile __u32 lb_abi = LB_ABI_VERSION;
/* Room of every table; the loader sets both before it makes the maps. */
const volatile __u32 lb_receivers_max = 64;
const volatile __u32 lb_slots_max = LB_SLOTS_MIN;
/* Whether some listener serves every destination (`addresses: any`). */
const volatile __u8 lb_serves_any = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct lb_listener_key);
	__type(value, __u32);
} listeners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_LISTENERS_MAX);
	__type(key, __u32);
	__type(value, struct lb_row);
} listener_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct lb_row);
} receiver_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_LISTENERS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} turns SEC(".maps");

static __always_inline struct lb_table *table_of(__u32 listener)
{
	void *table = bpf_map_lookup_elem(&tables, &listener);
	__u32 zero = 0;

	return table ? bpf_map_lookup_elem(table, &zero) : 0;
}

/* The table for a destination by the map `listeners`, which knows every one; port 0 stands for any. */
static __always_inline struct lb_table *find_shared(const struct lb_packet *packet, __u32 ifindex,
						    __u16 port, __u32 *listener)
{
	struct lb_listener_key key = {
		.address = packet->flow.destination,
		.ifindex = ifindex,
		.port = port,
	};
	__u32 *number = bpf_map_lookup_elem(&listeners, &key);

	if (!number && lb_serves_any) {
		key.address.high = key.address.low = 0;
		number = bpf_map_lookup_elem(&listeners, &key);
	}
	if (!number)
		return 0;
	*listener = *number;
	return table_of(*number);
}

/* The table and the number of the listener that a packet is for; null when it is for nobody. */
static __always_inline struct lb_table *find_table(const struct lb_packet *packet, __u32 ifindex,
						   __u32 *listener)
{
	__u32 port = packet->flow.destination_port, *served = bpf_map_lookup_elem(&ports, &port);
	struct lb_table *table;

	if (!served || *served == LB_PORT_FREE)
		return 0;
	if (*served == LB_PORT_SHARED)
		return find_shared(packet, ifindex, port, listener);
	*listener = *served - 1;
	table = table_of(*listener);
	if (!table || table->ifindex != ifindex ||
	    table->address.low != packet->flow.destination.low ||
	    table->address.high != packet->flow.destination.high)
		return 0;
	return table;
}

static __always_inline __u32 key_of(const struct lb_table *table, const struct lb_packet *packet,
				    __u32 listener)
{
	__u32 *turn, key;

	switch (table->key) {
	case LB_KEY_SOURCE_IP:
		if (!packet->is_v6)
			return lb_key_of_hash(lb_hash_low(table->seed_v4, packet->flow.source.low));
		return lb_key_source_ip(table->seed, packet->flow.source);
	case LB_KEY_FOUR_TUPLE:
		return lb_key_four_tuple(table->seed, &packet->flow);
	case LB_KEY_RANDOM:
		return bpf_get_prandom_u32();
	}
	turn = bpf_map_lookup_elem(&turns, &listener);
	if (!turn)
		return 0;
	/* A number below that of the slots is its own slot, without a division. */
	key = *turn;
	*turn = key + 1 < table->slots ? key + 1 : 0;
	return key;
}

/* The receiver that owns the key's slot; null when nobody is ready. */
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

/* Datagrams and their bytes, of one of the two counters that have both. */
static __always_inline void count(struct lb_row *row, enum lb_counter counter, __u64 packets,
				  __u64 bytes)
{
	if (!row)
		return;
	row->count[counter] += packets;
	row->count[counter + 1] += bytes;
}

static __always_inline void count_drop(struct lb_row *row, enum lb_drop_reason reason,
				       __u64 packets)
{
	if (row)
		row->count[LB_COUNT_DROPS + reason] += packets;
}

#endif
