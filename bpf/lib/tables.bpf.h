/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * tables.bpf.h: listeners by their addresses, and counters, of the kernel modes without associations.
 * balance.bpf.h has the lookups in a listener's table.
 */
#ifndef LB_TABLES_BPF_H
#define LB_TABLES_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

#include "balance.bpf.h"

/* Whether a listener serves every destination (`addresses: any`). */
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

static __always_inline struct lb_table *table_of(__u32 listener)
{
	void *table = bpf_map_lookup_elem(&tables, &listener);
	__u32 zero = 0;

	return table ? bpf_map_lookup_elem(table, &zero) : 0;
}

/* The table for a destination in the map `listeners`, which has all of them; port 0 means any. */
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

/* The table and the number of the listener of a packet; null if it has none. */
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
