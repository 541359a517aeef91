/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_association.bpf.h: which server a client is associated with, and who may be.
 *
 * An association that a client made and no server has answered lies in the maps `unanswered`, so that a
 * flood of unanswered sources evicts only its like. The first reply moves it to those
 * of `associations`; what a server begins starts there. Both forget the least recently used when they are
 * full, and only then.
 *
 * Two CPUs may want to make one association at once; then the slower one takes what the other made. The
 * kernel may give the entry of a forgotten association to another client while a program still holds it:
 * so an association changes by compare and exchange alone, and its owner only from one that is gone.
 */
#ifndef LB_NAT_ASSOCIATION_BPF_H
#define LB_NAT_ASSOCIATION_BPF_H

#include "balance.bpf.h"
#include "nat_maps.bpf.h"

/* Whether associations wait for an answer in a map of their own; the loader sets it. */
const volatile __u8 lb_nat_waits = 1;

/* The loader sets the sizes, to powers of two: of others the kernel uses less. Those of a family that no
 * listener has are 1. */
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
 * How many associations servers may begin where clients have their interface, too: as many as fill a sixteenth of the maps at once, and after that one
 * each lb_nat_begin_ns, which fill them in five minutes. Anyone who can send with a server's address begins
 * some; clients that send more often than that stay younger than these, so the maps forget others first.
 */
const volatile __u64 lb_nat_begin_ns = 300000000000ULL / 1048576;
#define NAT_BEGIN_CREDIT_NS (300000000000ULL / 16)

/* When the associations that servers have begun are paid for: CLOCK_MONOTONIC in nanoseconds. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} begun SEC(".maps");

/* Whether a server may begin another association; when several CPUs ask at once, some may be refused. */
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

/* A client, as the maps of its family know it. */
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

/* An answer adds to the maps of those that were answered before it deletes from the others, so in this
 * order none is missed. */
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
 * Gives a client without a living association to a server.
 *
 * @known   its association with a server that is gone; null when it has none
 * @waits   whether an answer is yet to come
 * @return  the association in the end, which may be with another server when another CPU was quicker; 0
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

/* Moves an association that was answered from the maps of those that were not; its entry there goes
 * last. */
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
