/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_routes.bpf.h: the kernel's routes, and a cache of them.
 *
 * bpf_fib_lookup takes longer than all the rest together, and returns the same for all packets of a flow.
 * So its results are cached for a moment, or until user space reports a change.
 */
#ifndef LB_NAT_ROUTES_BPF_H
#define LB_NAT_ROUTES_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/nat.h>

#define AF_INET 2
#define AF_INET6 10
#define LOOPBACK_IFINDEX 1 /* net/flow.h */

/* Whether packets are routed; the loader sets it. */
const volatile __u8 lb_nat_routed = 0;
/* Places of the map `ways`, a power of two; the loader sets both. */
const volatile __u32 lb_nat_ways = 1;
/* How long a result is valid without a change from user space: 1 s where a second has 250 ticks, at most
 * 2.5 s (100 ticks). */
const volatile __u32 lb_nat_way_ticks = 250;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_nat_way);
} ways SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} routes SEC(".maps");

/* Takes memory only for existing interfaces. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} links SEC(".maps");

/* The link bits of an interface: enum lb_nat_link. */
static __always_inline __u32 link_of(__u32 interface)
{
	__u32 *known = bpf_map_lookup_elem(&links, &interface);

	return known ? *known : 0;
}

/* The lookup: the packet as it will leave. */
struct nat_question {
	struct lb_addr source;
	struct lb_addr destination;
	__u16 source_port; /* host order */
	__u16 destination_port;
	__u16 bytes; /* of the IP packet */
	__u8 traffic_class;
	__u8 protocol;
	__u32 from; /* the interface that it came in by */
	__u32 is_v6;
};

/* The part of a lookup that the kernel's result depends on. */
struct nat_subject {
	struct lb_addr source;
	struct lb_addr destination;
	__u32 ports;
};

/* Without the source and the ports unless user space sets LB_NAT_BY_FLOW (`word`, of the map `routes`):
 * then all clients share the way to their server, which stays in the cache. */
static __always_inline struct nat_subject subject_of(const struct nat_question *asked, __u32 word)
{
	__u64 mask = 0 - (__u64)(word & LB_NAT_BY_FLOW);
	struct nat_subject subject = {
		.source = {asked->source.high & mask, asked->source.low & mask},
		.destination = asked->destination,
		.ports = ((__u32)asked->source_port << 16 | asked->destination_port) & (__u32)mask,
	};

	return subject;
}

static __always_inline struct lb_nat_way *place_of_way(const struct nat_subject *subject)
{
	__u32 place = lb_nat_way_place(subject->source, subject->destination, subject->ports,
				       lb_nat_ways);

	return bpf_map_lookup_elem(&ways, &place);
}

/* The cached way for UDP; null when there is none, or it has expired. */
static __always_inline struct lb_nat_way *find_way(const struct nat_question *asked)
{
	__u32 zero = 0, *word = bpf_map_lookup_elem(&routes, &zero), now = word ? *word : 0;
	struct nat_subject subject = subject_of(asked, now);
	struct lb_nat_way *way = place_of_way(&subject);

	if (!way || way->routes != now || way->from != asked->from ||
	    way->kind != lb_nat_way_kind(asked->traffic_class, (int)asked->is_v6) ||
	    way->destination.low != subject.destination.low || way->ports != subject.ports ||
	    way->source.low != subject.source.low || asked->bytes > way->mtu ||
	    (__u32)bpf_jiffies64() - way->since >= lb_nat_way_ticks)
		return 0;
	if (asked->is_v6 && (way->destination.high != subject.destination.high ||
			     way->source.high != subject.source.high))
		return 0;
	return way;
}

static __always_inline void put_fib_addr(void *at, struct lb_addr address, int is_v6)
{
	__u64 *words = at;

	if (!is_v6) {
		*(__u32 *)at = bpf_htonl((__u32)address.low);
		return;
	}
	words[0] = bpf_cpu_to_be64(address.high);
	words[1] = bpf_cpu_to_be64(address.low);
}

/* Looks the route up in the kernel; a result of bpf_fib_lookup. */
static __always_inline long ask(struct xdp_md *ctx, const struct nat_question *asked,
				struct bpf_fib_lookup *fib)
{
	fib->family = asked->is_v6 ? AF_INET6 : AF_INET;
	fib->l4_protocol = asked->protocol;
	fib->sport = bpf_htons(asked->source_port);
	fib->dport = bpf_htons(asked->destination_port);
	fib->tot_len = asked->bytes;
	fib->ifindex = asked->from;
	put_fib_addr(fib->ipv6_src, asked->source, (int)asked->is_v6);
	put_fib_addr(fib->ipv6_dst, asked->destination, (int)asked->is_v6);
	if (asked->is_v6)
		fib->flowinfo = bpf_htonl((__u32)asked->traffic_class << 20);
	else
		fib->tos = asked->traffic_class;
	return bpf_fib_lookup(ctx, fib, sizeof(*fib), 0);
}

/* Caches the kernel's result for a UDP packet; the word of the routes was read before the lookup. */
static __always_inline void keep_way(const struct nat_question *asked,
				     const struct bpf_fib_lookup *fib, __u32 word)
{
	struct nat_subject subject = subject_of(asked, word);
	struct lb_nat_way *way = place_of_way(&subject);

	if (!way)
		return;
	way->source = subject.source;
	way->destination = subject.destination;
	way->ports = subject.ports;
	way->kind = lb_nat_way_kind(asked->traffic_class, (int)asked->is_v6);
	way->from = asked->from;
	way->to = fib->ifindex;
	way->since = (__u32)bpf_jiffies64();
	way->routes = word;
	__builtin_memcpy(way->header, fib->dmac, 6);
	__builtin_memcpy(way->header + 6, fib->smac, 6);
	/* Before Linux 5.12 it returns no MTU, and the length is still there. */
	way->mtu = fib->mtu_result;
}

static __always_inline void head_for(__u8 *frame, const struct lb_nat_way *way)
{
	*(__u64 *)frame = *(const __u64 *)way->header;
	*(__u32 *)(frame + 8) = *(const __u32 *)(way->header + 8);
}

#endif
