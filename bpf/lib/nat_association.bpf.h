/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_association.bpf.h: the associations of clients with servers, and their limits.
 *
 * An association that a client made and no server has answered is in the maps `unanswered`, so that a
 * flood of unanswered sources evicts only such entries. The first reply moves it to `associations`; those
 * that a server makes start there. A full map evicts the least recently used entry; nothing else does.
 *
 * Two CPUs may make one association at once; then the slower one uses that of the other. The kernel may
 * reuse the entry of an evicted association for another client while a program still holds it: so an
 * association changes only by compare and exchange, and its owner only if the previous one is removed.
 */
#ifndef LB_NAT_ASSOCIATION_BPF_H
#define LB_NAT_ASSOCIATION_BPF_H

#include "balance.bpf.h"
#include "nat_maps.bpf.h"

/* Whether associations wait for a reply in maps of their own; the loader sets it. */
const volatile __u8 lb_nat_waits = 1;

/* The loader sets the sizes, to powers of two: of other sizes the kernel uses less. Without a listener of a
 * family its maps have size 1. */
#define NAT_ASSOCIATIONS(name, key_type, entries)                                                  \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                               \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, struct lb_nat_association);                                          \
	} name SEC(".maps")

NAT_ASSOCIATIONS(associations4, __u64, 1048576);
NAT_ASSOCIATIONS(associations6, struct lb_nat_client, 1048576);
NAT_ASSOCIATIONS(unanswered4, __u64, 32768);
NAT_ASSOCIATIONS(unanswered6, struct lb_nat_client, 32768);

/*
 * How many associations servers may start where clients share their interface: at once as many as fill a
 * sixteenth of the maps, and after that one each lb_nat_begin_ns, which fills them in five minutes. Any
 * host that can send with a server's address starts some; clients that send more often than that stay
 * younger than these, so the maps evict others first.
 */
const volatile __u64 lb_nat_begin_ns = 300000000000ULL / 1048576;
#define NAT_BEGIN_CREDIT_NS (300000000000ULL / 16)

/* Rate limit of the associations that servers start: the time up to which they are accounted for, in
 * nanoseconds of CLOCK_MONOTONIC. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} begun SEC(".maps");

/* Whether a server may start another association; when several CPUs ask at once, some may be refused. */
static __always_inline int may_begin(void)
{
	__u64 now = bpf_ktime_get_coarse_ns(), credit = NAT_BEGIN_CREDIT_NS, before, from;
	__u32 zero = 0;
	__u64 *paid = bpf_map_lookup_elem(&begun, &zero);

	if (!paid)
		return 0;
	if (credit < lb_nat_begin_ns)
		credit = lb_nat_begin_ns;
	for (int i = 0; i < 4; i++) {
		before = *(volatile __u64 *)paid;
		from = before + credit > now ? before : now - credit;
		if (from + lb_nat_begin_ns > now)
			return 0;
		if (__sync_val_compare_and_swap(paid, before, from + lb_nat_begin_ns) == before)
			return 1;
	}
	return 0;
}

/* A client, in the key format of its family's maps. */
struct nat_client {
	struct lb_nat_client key;
	__u32 is_v6;
	__u16 is_unknown; /* it was looked for just now, and has no association */
	__u16 is_certain; /* the packet is its server's: it came by an interface that no client has */
};

static __always_inline struct nat_client client_of(struct lb_addr address, __u16 port,
						   __u8 protocol, __u32 listener, int is_v6)
{
	struct nat_client client = {
		.key = lb_nat_client_of(address, port, protocol, (__u8)listener, is_v6),
		.is_v6 = (__u32)is_v6,
	};
	return client;
}

static __always_inline struct lb_nat_association *find_answered(const struct nat_client *client)
{
	return client->is_v6 ? bpf_map_lookup_elem(&associations6, &client->key)
			     : bpf_map_lookup_elem(&associations4, &client->key);
}

static __always_inline struct lb_nat_association *find_unanswered(const struct nat_client *client)
{
	if (!lb_nat_waits)
		return 0;
	return client->is_v6 ? bpf_map_lookup_elem(&unanswered6, &client->key)
			     : bpf_map_lookup_elem(&unanswered4, &client->key);
}

/* A reply adds to the maps of answered ones before it deletes from the others, so in this order none is
 * missed. */
static __always_inline struct lb_nat_association *find_association(const struct nat_client *client)
{
	struct lb_nat_association *known = find_unanswered(client);

	return known ? known : find_answered(client);
}

static __always_inline long put_answered(const struct nat_client *client,
					 const struct lb_nat_association *made, __u64 flags)
{
	return client->is_v6 ? bpf_map_update_elem(&associations6, &client->key, made, flags)
			     : bpf_map_update_elem(&associations4, &client->key, made, flags);
}

static __always_inline long put_unanswered(const struct nat_client *client,
					   const struct lb_nat_association *made, __u64 flags)
{
	return client->is_v6 ? bpf_map_update_elem(&unanswered6, &client->key, made, flags)
			     : bpf_map_update_elem(&unanswered4, &client->key, made, flags);
}

/*
 * Associates a client without a valid association with a server.
 *
 * @known   its association with a removed server; null when it has none
 * @waits   whether a reply is still missing
 * @return  the resulting association, which may be with another server when another CPU was quicker; 0
 *          when there is no memory
 */
static __always_inline __u64 associate(const struct nat_client *client,
				       struct lb_nat_association *known, __u64 owner, __u32 service,
				       int waits)
{
	struct lb_nat_association made = {
		.word = lb_nat_associate(owner, service, bpf_ktime_get_coarse_ns() / 1000000000),
	};
	__u64 before;

	if (known) {
		before = known->word;
		if (find_holder(before))
			return before;
		return __sync_val_compare_and_swap(&known->word, before, made.word) == before
			       ? made.word
			       : known->word;
	}
	if (waits && lb_nat_waits) {
		if (!put_unanswered(client, &made, BPF_NOEXIST))
			return made.word;
	} else if (!put_answered(client, &made, BPF_NOEXIST)) {
		return made.word;
	}
	known = find_association(client);
	return known ? known->word : 0;
}

/* Moves an answered association from the maps of unanswered ones; its entry there is deleted last. */
static __always_inline void answer(const struct nat_client *client,
				   const struct lb_nat_association *known)
{
	struct lb_nat_association kept = *known;

	if (put_answered(client, &kept, BPF_ANY))
		return;
	if (client->is_v6)
		bpf_map_delete_elem(&unanswered6, &client->key);
	else
		bpf_map_delete_elem(&unanswered4, &client->key);
}

/* An address that no reply can go to: unspecified, multicast or broadcast, or the sender's own. */
static __always_inline int is_martian(struct lb_addr address, int is_v6)
{
	if (lb_is_loopback(address))
		return 1;
	return is_v6 ? lb_is_martian_v6(address) : lb_is_martian_v4((__u32)address.low);
}

#endif
