/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * fragments.bpf.h: all fragments of a datagram share the fate of the first, which alone has ports.
 */
#ifndef LB_FRAGMENTS_BPF_H
#define LB_FRAGMENTS_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

/* How long a fate is valid. The fragments of a datagram arrive within moments of each other; a sender of
 * 65536 fragmented datagrams a second reuses an IPv4 identification after one. */
#define LB_FRAGMENT_NS 1000000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct lb_fragment_key);
	__type(value, struct lb_fragment);
} fragments SEC(".maps");

static __always_inline struct lb_fragment_key fragment_key(const struct __sk_buff *skb,
							   const struct lb_packet *packet)
{
	struct lb_fragment_key key = {
		.source = packet->flow.source,
		.destination = packet->flow.destination,
		.id = packet->fragment_id,
		.ifindex = skb->ingress_ifindex,
	};
	return key;
}

/* The fate of a datagram; null when it is not decided. */
static __always_inline struct lb_fragment *find_fate(const struct lb_fragment_key *key, __u64 now)
{
	struct lb_fragment *known = bpf_map_lookup_elem(&fragments, key);

	return known && now - known->seen_ns < LB_FRAGMENT_NS ? known : 0;
}

/*
 * Decides the fate of a datagram, by its first fragment or by a later one that came before.
 *
 * If two CPUs decide it at once, one wins.
 *
 * @receiver  null unless it was sent
 * @return    whether it is the wanted one; 0 when it had been passed to the stack or, for a later
 *            fragment, when the first was quicker
 */
static __always_inline int settle(const struct lb_fragment_key *key, enum lb_fate fate,
				  const struct lb_receiver *receiver)
{
	struct lb_fragment settled = {.seen_ns = bpf_ktime_get_ns(), .fate = fate};
	struct lb_fragment *known = find_fate(key, settled.seen_ns);

	if (receiver)
		settled.receiver = *receiver;
	if (known && (known->fate == LB_FATE_PASSED || fate == LB_FATE_PASSED))
		return known->fate == fate;
	/* A reused identification may be overwritten; so may a first fragment that comes twice, since the
	 * later ones follow the second. */
	if (known)
		return !bpf_map_update_elem(&fragments, key, &settled, BPF_ANY);
	if (!bpf_map_update_elem(&fragments, key, &settled, BPF_NOEXIST))
		return 1;
	known = find_fate(key, settled.seen_ns);
	if (known)
		return known->fate == fate;
	return !bpf_map_update_elem(&fragments, key, &settled, BPF_ANY);
}

#endif
