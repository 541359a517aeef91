// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * reuseport_select.bpf.c: which socket of a SO_REUSEPORT group takes a datagram or connection.
 *
 *   key       of the packet (source IP, four-tuple), a counter or a random number
 *   slot      slots[key mod n] is the first choice among the members
 *   select    its socket in udp_balancing_targets or tcp_balancing_targets
 *   stand in  when that member is gone: the owner under the next key, STAND_IN_KEYS times, then the
 *             members in turn; so its sources go to live members at once and return when it returns,
 *             while nobody else's move
 *   count     selected, or missed and fallback
 *
 * The verdict is SK_PASS always: without a selection the kernel's own hash decides. A socket that
 * closes leaves its slot by itself (kernel/bpf/reuseport_array.c).
 *
 * Maps read: slots, size, nonce, the two of targets. Maps written: counters, turns.
 * The library alone uses: group, udp_members, tcp_members.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/reuseport.h>

#define AF_INET 2
#define IPV4_SOURCE 12 /* RFC 791, section 3.1 */
#define IPV6_SOURCE 8  /* RFC 8200, section 3 */

/* Keys tried before the members are asked in turn. Eight of them miss half of a group that is dead
 * in one case of 256. */
#define STAND_IN_KEYS 8

#ifdef LB_DEBUG
#define trace(...) bpf_printk(__VA_ARGS__)
#else
#define trace(...) ((void)0)
#endif

/* enum lb_reuseport_key; a constant to the verifier, which leaves the other keys' code out. */
const volatile __u32 lb_key = LB_REUSEPORT_SOURCE_IP;

struct targets {
	__uint(type, BPF_MAP_TYPE_REUSEPORT_SOCKARRAY);
	__uint(max_entries, LB_MEMBERS_MAX);
	__type(key, __u32);
	__type(value, __u64); /* user space reads the socket's cookie */
};
struct targets udp_balancing_targets SEC(".maps");
struct targets tcp_balancing_targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* members that the group is meant to have */
} size SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64); /* seed of the hash */
} nonce SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_reuseport_table);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_MEMBERS_MAX + 1);
	__type(key, __u32);
	__type(value, struct lb_reuseport_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* the next key of round robin */
} turns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_reuseport_group);
} group SEC(".maps");

struct members {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LB_MEMBERS_MAX);
	__type(key, __u32);
	__type(value, struct lb_reuseport_member);
};
struct members udp_members SEC(".maps");
struct members tcp_members SEC(".maps");

static __always_inline struct lb_addr addr_v6(const __be32 words[4])
{
	struct lb_addr address = {
		(__u64)bpf_ntohl(words[0]) << 32 | bpf_ntohl(words[1]),
		(__u64)bpf_ntohl(words[2]) << 32 | bpf_ntohl(words[3]),
	};
	return address;
}

/* Source and destination stand side by side in both headers. */
static __always_inline int read_flow(struct sk_reuseport_md *md, struct lb_flow *flow, int both)
{
	__be32 words[8];
	__be16 *ports = md->data;

	if (md->eth_protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes_relative(md, IPV4_SOURCE, words, both ? 8 : 4,
						BPF_HDR_START_NET))
			return -1;
		flow->source = lb_addr_v4(bpf_ntohl(words[0]));
		if (both)
			flow->destination = lb_addr_v4(bpf_ntohl(words[1]));
	} else {
		if (bpf_skb_load_bytes_relative(md, IPV6_SOURCE, words, both ? 32 : 16,
						BPF_HDR_START_NET))
			return -1;
		flow->source = addr_v6(words);
		if (both)
			flow->destination = addr_v6(words + 4);
	}
	if (!both)
		return 0;
	/* UDP and TCP both begin with the two ports. */
	if ((void *)(ports + 2) > (void *)md->data_end)
		return -1;
	flow->source_port = bpf_ntohs(ports[0]);
	flow->destination_port = bpf_ntohs(ports[1]);
	return 0;
}

/* A connection that moves because its listener closed may come without a packet; its socket knows
 * the peer. */
static __always_inline void read_migrating(struct bpf_sock *sk, struct lb_flow *flow)
{
	if (sk->family == AF_INET) {
		flow->source = lb_addr_v4(bpf_ntohl(sk->dst_ip4));
		flow->destination = lb_addr_v4(bpf_ntohl(sk->src_ip4));
	} else {
		__be32 words[4] = {sk->dst_ip6[0], sk->dst_ip6[1], sk->dst_ip6[2], sk->dst_ip6[3]};
		flow->source = addr_v6(words);
		words[0] = sk->src_ip6[0];
		words[1] = sk->src_ip6[1];
		words[2] = sk->src_ip6[2];
		words[3] = sk->src_ip6[3];
		flow->destination = addr_v6(words);
	}
	flow->source_port = bpf_ntohs(sk->dst_port);
	flow->destination_port = sk->src_port;
}

static __always_inline __u32 key_of(struct sk_reuseport_md *md, struct bpf_sock *migrating)
{
	struct lb_flow flow = {};
	__u32 zero = 0;
	__u64 *seed;

	if (lb_key == LB_REUSEPORT_ROUND_ROBIN) {
		__u32 *turn = bpf_map_lookup_elem(&turns, &zero);
		return turn ? (*turn)++ : 0;
	}
	if (lb_key == LB_REUSEPORT_RANDOM)
		return bpf_get_prandom_u32();
	if (migrating)
		read_migrating(migrating, &flow);
	else if (read_flow(md, &flow, lb_key == LB_REUSEPORT_FOUR_TUPLE))
		return md
			->hash; /* the kernel's hash of the flow: some choice is better than none */
	seed = bpf_map_lookup_elem(&nonce, &zero);
	if (lb_key == LB_REUSEPORT_FOUR_TUPLE)
		return lb_key_four_tuple(seed ? *seed : 0, &flow);
	return lb_key_source_ip(seed ? *seed : 0, flow.source);
}

_Static_assert((LB_SLOTS_MIN & (LB_SLOTS_MIN - 1)) == 0, "a mask");
static __always_inline __u32 owner_of(const struct lb_reuseport_table *table, __u32 key)
{
	/* The mask changes nothing; it is for the verifier, which cannot follow a 32-bit remainder. */
	return table->owner[lb_slot(key, table->slots) & (LB_SLOTS_MIN - 1)];
}

static __always_inline struct lb_reuseport_counters *row(__u32 member)
{
	return bpf_map_lookup_elem(&counters, &member);
}

static __always_inline int take(struct sk_reuseport_md *md, void *targets, __u32 member)
{
	return bpf_sk_select_reuseport(md, targets, &member, 0);
}

static __always_inline int select(struct sk_reuseport_md *md, struct bpf_sock *migrating)
{
	void *targets = md->ip_protocol == IPPROTO_TCP ? (void *)&tcp_balancing_targets
						       : (void *)&udp_balancing_targets;
	__u32 key, first, member, attempt, *count, zero = 0;
	struct lb_reuseport_table *table = bpf_map_lookup_elem(&slots, &zero);
	struct lb_reuseport_counters *counts;

	if (!table || !table->slots)
		return SK_PASS;
	key = key_of(md, migrating);
	first = owner_of(table, key);
	counts = row(first);
	if (!take(md, targets, first)) {
		if (counts)
			counts->selected++;
		trace("lb: key %x meets member %u", key, first);
		return SK_PASS;
	}
	if (counts)
		counts->missed++;
	for (attempt = 1; attempt <= STAND_IN_KEYS; attempt++) {
		member = owner_of(table, lb_stand_in_key(key, attempt));
		if (!take(md, targets, member))
			goto stood_in;
	}
	count = bpf_map_lookup_elem(&size, &zero);
	for (attempt = 1; count && attempt < LB_MEMBERS_MAX && attempt < *count; attempt++) {
		member = (first + attempt) % *count;
		if (!take(md, targets, member))
			goto stood_in;
	}
	counts = row(LB_REUSEPORT_LEFT);
	if (counts)
		counts->missed++;
	trace("lb: key %x: nobody stands in for member %u", key, first);
	return SK_PASS;

stood_in:
	counts = row(member);
	if (counts)
		counts->fallback++;
	trace("lb: key %x: member %u stands in for %u", key, member, first);
	return SK_PASS;
}

SEC("sk_reuseport")
int lb_select(struct sk_reuseport_md *md)
{
	return select(md, 0);
}

/* The same, and the connections that wait in a listener's queue when it closes (Linux 5.14). */
SEC("sk_reuseport/migrate")
int lb_migrate(struct sk_reuseport_md *md)
{
	return select(md, md->migrating_sk);
}

char _license[] SEC("license") = "Dual BSD/GPL";
