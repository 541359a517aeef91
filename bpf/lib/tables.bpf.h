/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * tables.bpf.h: listeners by their addresses, and counters, of the kernel modes that spread and forget.
 * What a listener's table leads to is in balance.bpf.h.
 */
#ifndef LB_TABLES_BPF_H
#define LB_TABLES_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

#include "balance.bpf.h"

/* Whether some listener serves every destination (`addresses: any`). */
const volatile __u8 lb_serves_any = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct lb_listener_key);
	__type(value, __u32);
} listeners SEC(".maps");

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

static __always_inline struct lb_table *find_table(const struct lb_packet *packet, __u32 ifindex,
						   __u16 port, __u32 *listener)
{
	struct lb_listener_key key = {
		.address = packet->flow.destination,
		.ifindex = ifindex,
		.port = port,
	};
	__u32 zero = 0, *number = bpf_map_lookup_elem(&listeners, &key);
	void *table;

	if (!number && lb_serves_any) {
		key.address.high = key.address.low = 0;
		number = bpf_map_lookup_elem(&listeners, &key);
	}
	if (!number)
		return 0;
	*listener = *number;
	table = bpf_map_lookup_elem(&tables, number);
	return table ? bpf_map_lookup_elem(table, &zero) : 0;
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
