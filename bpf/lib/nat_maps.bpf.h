/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_maps.bpf.h: endpoints, services, servers, and counters.
 */
#ifndef LB_NAT_MAPS_BPF_H
#define LB_NAT_MAPS_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/nat.h>
#include <lb/nat_row.h>

#include "nat_parse.bpf.h"

/* Places of the table of endpoints, a power of two; the loader sets it with the size of the map's value. */
const volatile __u32 lb_nat_places = 1024;

struct endpoints_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 1024 * sizeof(struct lb_nat_endpoint));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct endpoints_map);
} endpoints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LB_SERVICES_MAX);
	__type(key, __u32);
	__type(value, struct lb_nat_service);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LB_SERVERS_MAX);
	__type(key, __u32);
	__type(value, struct lb_nat_server);
} servers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_NAT_ROWS);
	__type(key, __u32);
	__type(value, struct lb_nat_row);
} nat_rows SEC(".maps");

/* Two rows a server, lb_nat_row_of. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * LB_SERVERS_MAX);
	__type(key, __u32);
	__type(value, struct lb_row);
} server_rows SEC(".maps");

struct lb_nat_hook hooked[LB_NAT_HOOKS] SEC(LB_NAT_HOOKS_MAP);

/* The interface that a packet came in by; null when the program is not attached to it, but to one above,
 * such as a bond. */
static __always_inline struct lb_nat_hook *find_hook(__u32 ifindex)
{
	for (__u32 i = 0; i < LB_NAT_PROBES; i++) {
		struct lb_nat_hook *hook = &hooked[(ifindex + i) & (LB_NAT_HOOKS - 1)];

		if (hook->ifindex == ifindex)
			return hook;
		if (!hook->ifindex)
			return 0;
	}
	return 0;
}

/* Whether a frame is for this host, by the stack's rules. */
static __always_inline int is_ours(const struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct lb_nat_hook *hook = find_hook(ctx->ingress_ifindex);

	if (data + 14 > end)
		return 0;
	if (!hook)
		return !(data[0] & 1);
	return LB_LOAD(__u32, data) == LB_LOAD(__u32, hook->mac) &&
	       LB_LOAD(__u16, data + 4) == LB_LOAD(__u16, hook->mac + 4);
}

/* Whether a packet comes by the interface of the server in its source; `from` as in the endpoint. */
static __always_inline int comes_from(const struct xdp_md *ctx, __u32 from)
{
	__u32 ifindex = ctx->ingress_ifindex;

	return !from || from == ifindex || !find_hook(ifindex);
}

/* The translation of a packet: the new address and port of its source or destination. */
struct nat_move {
	struct lb_addr address;
	__u32 listener;
	__u32 server;
	__u32 event;	/* enum lb_nat_event */
	__s32 reason;	/* enum lb_drop_reason; -1: it is not dropped */
	__u16 port;	/* host order */
	__u8 direction; /* enum lb_nat_direction: ingress replaces the destination */
	__u8 to_stack;	/* the stack sends it, and lowers its TTL */
	__u32 mtu;	/* of a way that is too short for it, bytes of IP packet; else 0 */
	__u32 key;	/* of the payload, if has_key */
	__u32 has_key;
};

static __always_inline struct lb_nat_endpoint *find_places(void)
{
	__u32 zero = 0;
	void *map = bpf_map_lookup_elem(&endpoints, &zero);

	return map ? bpf_map_lookup_elem(map, &zero) : 0;
}

static __always_inline struct lb_nat_endpoint *
find_endpoint_in(struct lb_nat_endpoint *places, struct lb_addr address, __u16 port, __u8 protocol)
{
	__u32 mask = lb_nat_places - 1;
	__u32 first = lb_nat_place(address, port, protocol, mask + 1);
	struct lb_nat_endpoint *at;

	for (__u32 i = 0; i < LB_NAT_PROBES; i++) {
		at = &places[(first + i) & mask];
		if (!at->roles)
			return 0;
		if (at->address.low == address.low && at->address.high == address.high &&
		    at->port == port && at->protocol == protocol)
			return at;
	}
	return 0;
}

static __always_inline struct lb_nat_endpoint *find_endpoint(struct lb_addr address, __u16 port,
							     __u8 protocol)
{
	struct lb_nat_endpoint *places = find_places();

	return places ? find_endpoint_in(places, address, port, protocol) : 0;
}

/* The roles of an address on any port: a bit set of enum lb_nat_role. clang 14 passes no structure to
 * a function that it does not inline. */
static __noinline int roles_of(const struct lb_addr *address)
{
	struct lb_nat_endpoint *known = find_endpoint(*address, 0, 0);

	return known ? known->roles : 0;
}

/* The server of an association; null when it is removed. */
static __always_inline struct lb_nat_server *find_holder(__u64 association)
{
	__u32 number = lb_nat_server_of(association),
	      generation = lb_nat_generation_of(association);
	struct lb_nat_server *server = bpf_map_lookup_elem(&servers, &number);

	return server && generation && server->generation == generation ? server : 0;
}

static __always_inline void count_event(__u32 row, __u32 event)
{
	struct lb_nat_row *counters = bpf_map_lookup_elem(&nat_rows, &row);

	if (counters && event < LB_NAT_EVENTS)
		counters->event[event]++;
}

static __always_inline void count_packet(struct lb_row *row, enum lb_counter counter, __u32 payload)
{
	row->count[counter]++;
	row->count[counter + 1] += payload;
}

/* Counts a packet of the move's listener, its event and, if it has one, its server. */
static __always_inline void count_forwarded(const struct lb_packet *packet,
					    const struct nat_move *move)
{
	__u32 row = lb_nat_row_of(move->listener, move->direction), payload = packet->payload;
	__u32 row_of_server = lb_nat_row_of(move->server, move->direction), event = move->event;
	struct lb_nat_row *counters = bpf_map_lookup_elem(&nat_rows, &row);
	struct lb_row *of_server = bpf_map_lookup_elem(&server_rows, &row_of_server);

	if (!counters || !of_server || event >= LB_NAT_EVENTS)
		return;
	count_packet(&counters->common, LB_COUNT_PACKETS_RECEIVED, payload);
	count_packet(&counters->common, LB_COUNT_PACKETS_FORWARDED, payload);
	counters->event[event]++;
	count_packet(of_server, LB_COUNT_PACKETS_FORWARDED, payload);
}

static __noinline int count_dropped(const struct lb_packet *packet, const struct nat_move *move)
{
	__u32 row = lb_nat_row_of(move->listener, move->direction), reason = (__u32)move->reason;
	__u32 row_of_server = lb_nat_row_of(move->server, move->direction), event = move->event;
	struct lb_nat_row *counters = bpf_map_lookup_elem(&nat_rows, &row);
	struct lb_row *of_server = bpf_map_lookup_elem(&server_rows, &row_of_server);

	if (!counters || event >= LB_NAT_EVENTS || reason >= LB_DROP_REASONS)
		return 0;
	count_packet(&counters->common, LB_COUNT_PACKETS_RECEIVED, packet->payload);
	counters->common.count[LB_COUNT_DROPS + reason]++;
	counters->event[event]++;
	if (of_server)
		of_server->count[LB_COUNT_DROPS + reason]++;
	return 0;
}

#endif
