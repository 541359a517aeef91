// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * reuseport_select.bpf.c: selects the socket of a SO_REUSEPORT group for a datagram or connection.
 *
 *   key       of the packet (source IP, four-tuple, bytes of the payload), a counter, a random number or
 *             the CPU
 *   slot      slots[key mod n] is the first choice among the members
 *   select    its socket in udp_balancing_targets or tcp_balancing_targets; while a socket is being replaced,
 *             the current one of its two places, or the other one when that is closed
 *   fall back when the member is closed: the owner under the next key, LB_FALLBACK_KEYS times, then the
 *             members one after another; so its sources go to live members at once and return when it
 *             returns, while no other sources move
 *   count     selected, or missed and fallback
 *
 * The verdict is SK_PASS always: without a selection the kernel's own hash decides. A socket that
 * closes leaves its slot by itself (kernel/bpf/reuseport_array.c).
 *
 * Maps read: slots, the two of targets, the two of second places. Maps written: counters, turns.
 * For user space only: size, nonce, group, udp_members, tcp_members.
 */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/if_ether.h>
#ifdef LB_DEBUG
/* Formats are on the stack: so lb_constants is the only constant, by which the library finds it. */
#define BPF_NO_GLOBAL_DATA
#endif
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
/* Also of a packet that is not linear. */
#define LB_PAYLOAD_COPY(context, offset, to, bytes) bpf_skb_load_bytes(context, offset, to, bytes)
#include <lb/reuseport.h>

#define AF_INET 2
#define IPV4_SOURCE 12 /* RFC 791, section 3.1 */
#define IPV6_SOURCE 8  /* RFC 8200, section 3 */
#define UDP_HEADER 8

#ifdef LB_DEBUG
#define trace(...) bpf_printk(__VA_ARGS__)
#else
#define trace(...) ((void)0)
#endif

/* A constant for the verifier, which skips the code of the other keys. */
const volatile struct lb_reuseport_constants lb_constants = {
	.key = LB_REUSEPORT_SOURCE_IP,
	.capacity = LB_CAPACITY,
	.slots = LB_SLOTS_MIN,
};

/* The library gives the maps the group's capacity. */

struct targets {
	__uint(type, BPF_MAP_TYPE_REUSEPORT_SOCKARRAY);
	__uint(max_entries, LB_CAPACITY);
	__type(key, __u32);
	__type(value, __u64); /* user space reads the socket's cookie */
};
struct targets udp_balancing_targets SEC(".maps");
struct targets tcp_balancing_targets SEC(".maps");
struct targets udp_second_place SEC(".maps");
struct targets tcp_second_place SEC(".maps");

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

/* The map .bss, pinned as `slots`: a variable is read without a lookup. */
struct lb_reuseport_table lb_table;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LB_CAPACITY + LB_REUSEPORT_ROWS);
	__type(key, __u32);
	__type(value, struct lb_reuseport_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32); /* the next key of round robin */
} turns SEC(".maps");

/* The slot of each flow, by its key. Flows with one key share a slot in the table too. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_reuseport_group);
} group SEC(".maps");

struct members {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LB_PLACES *LB_CAPACITY);
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

static __always_inline int read_source(struct sk_reuseport_md *md, struct lb_addr *source)
{
	__be32 words[4];

	if (md->eth_protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes_relative(md, IPV4_SOURCE, words, 4, BPF_HDR_START_NET))
			return -1;
		*source = lb_addr_v4(bpf_ntohl(words[0]));
		return 0;
	}
	if (bpf_skb_load_bytes_relative(md, IPV6_SOURCE, words, 16, BPF_HDR_START_NET))
		return -1;
	*source = addr_v6(words);
	return 0;
}

static __always_inline int read_flow(struct sk_reuseport_md *md, struct lb_flow *flow)
{
	__be16 *ports = md->data;
	__be32 words[8];

	/* Source and destination are adjacent in both headers, and both ports in UDP and TCP. */
	if (md->eth_protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes_relative(md, IPV4_SOURCE, words, 8, BPF_HDR_START_NET))
			return -1;
		flow->source = lb_addr_v4(bpf_ntohl(words[0]));
		flow->destination = lb_addr_v4(bpf_ntohl(words[1]));
	} else {
		if (bpf_skb_load_bytes_relative(md, IPV6_SOURCE, words, 32, BPF_HDR_START_NET))
			return -1;
		flow->source = addr_v6(words);
		flow->destination = addr_v6(words + 4);
	}
	if ((void *)(ports + 2) > (void *)md->data_end)
		return -1;
	flow->source_port = bpf_ntohs(ports[0]);
	flow->destination_port = bpf_ntohs(ports[1]);
	return 0;
}

/* A connection that migrates because its listener closed may come without a packet; its socket has the
 * peer. */
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

/* The key of a packet's payload; TCP and a connection that migrates have none. */
static __noinline __u32 key_of_payload(struct sk_reuseport_md *md, struct bpf_sock *migrating,
				       const struct lb_flow *flow)
{
	struct lb_payload_key key = {
		.kind = lb_constants.payload.kind,
		.offset = lb_constants.payload.offset,
		.length = lb_constants.payload.length,
		.skip = lb_constants.payload.skip,
	};
	struct lb_payload payload = {.from = md, .start = UDP_HEADER};

	if (!migrating && md->ip_protocol == IPPROTO_UDP && md->len > UDP_HEADER)
		payload.bytes = md->len - UDP_HEADER;
	return lb_key_payload(lb_table.seed, &key, &payload, flow);
}

static __always_inline __u32 key_of(struct sk_reuseport_md *md, struct bpf_sock *migrating,
				    __u32 kind)
{
	struct lb_flow flow;

	if (kind == LB_REUSEPORT_ROUND_ROBIN) {
		__u32 zero = 0, *turn = bpf_map_lookup_elem(&turns, &zero);
		return turn ? (*turn)++ : 0;
	}
	if (kind == LB_REUSEPORT_RANDOM)
		return bpf_get_prandom_u32();
	if (kind == LB_REUSEPORT_CPU)
		return bpf_get_smp_processor_id();
	/* Without a header the kernel's hash of the flow is used: any choice is better than none. */
	if (migrating)
		read_migrating(migrating, &flow);
	else if (kind == LB_REUSEPORT_SOURCE_IP ? read_source(md, &flow.source)
						: read_flow(md, &flow))
		return md->hash;
	if (kind == LB_REUSEPORT_FOUR_TUPLE)
		return lb_key_four_tuple(lb_table.seed, &flow);
	if (kind == LB_REUSEPORT_PAYLOAD)
		return key_of_payload(md, migrating, &flow);
	if (flow.source.high == 0)
		return lb_key_of_hash(lb_hash_low(lb_table.seed_v4, flow.source.low));
	return lb_key_source_ip(lb_table.seed, flow.source);
}

static __always_inline __u32 owner_of(__u32 key, __u32 kind)
{
	/* A hashed table always has all slots, which spares the division. */
	if (lb_reuseport_is_hashed(kind))
		return lb_table.owner[key & (lb_constants.slots - 1)];
	/* The mask changes nothing; it is for the verifier, which cannot follow the remainder. */
	return lb_table.owner[lb_slot(key, lb_table.slots) & (LB_SLOTS_MAX - 1)];
}

static __always_inline __u8 place_of(enum lb_reuseport_protocol protocol, __u32 member)
{
	/* The mask changes nothing; it is for the verifier. */
	return lb_table.place[protocol][member & (LB_MEMBERS_MAX - 1)];
}

/* The current socket of the slot, or the previous one when the current one is closed. */
static __always_inline int take(struct sk_reuseport_md *md, __u32 member)
{
	if (md->ip_protocol == IPPROTO_UDP) {
		if (!place_of(LB_REUSEPORT_UDP, member) &&
		    !bpf_sk_select_reuseport(md, &udp_balancing_targets, &member, 0))
			return 0;
		if (!bpf_sk_select_reuseport(md, &udp_second_place, &member, 0))
			return 0;
		return bpf_sk_select_reuseport(md, &udp_balancing_targets, &member, 0);
	}
	if (!place_of(LB_REUSEPORT_TCP, member) &&
	    !bpf_sk_select_reuseport(md, &tcp_balancing_targets, &member, 0))
		return 0;
	if (!bpf_sk_select_reuseport(md, &tcp_second_place, &member, 0))
		return 0;
	return bpf_sk_select_reuseport(md, &tcp_balancing_targets, &member, 0);
}

/* The same as a global function, which the verifier walks once and not once a call (Linux 5.6): with
 * it a group loads in 5 ms instead of 8. */
__noinline int lb_take(struct sk_reuseport_md *md, __u32 member)
{
	return take(md, member);
}

static __always_inline void count_missed(__u32 row)
{
	struct lb_reuseport_counters *counts = bpf_map_lookup_elem(&counters, &row);

	if (counts)
		counts->missed++;
}

/* The fallback for a closed first choice; a separate function, to keep it out of the common path. */
static __noinline int fallback(struct sk_reuseport_md *md, __u32 key, __u32 first)
{
	__u32 kind = lb_constants.key, member, attempt;
	struct lb_reuseport_counters *counts;

	count_missed(first);
	for (attempt = 1; attempt <= LB_FALLBACK_KEYS; attempt++) {
		member = owner_of(lb_fallback_key(key, attempt), kind);
		if (!lb_take(md, member))
			goto chosen;
	}
	for (attempt = 1; attempt < LB_MEMBERS_MAX && attempt < lb_table.count; attempt++) {
		member = (first + attempt) % lb_table.count;
		if (!lb_take(md, member))
			goto chosen;
	}
	count_missed(LB_REUSEPORT_LEFT(lb_constants.capacity));
	trace("lb: key %x: no fallback for member %u", key, first);
	return SK_PASS;

chosen:
	/* The flow stays with its fallback, which may have state of it by the time the member is back. */
	if (lb_constants.flows)
		bpf_map_update_elem(&flows, &key, &member, BPF_ANY);
	counts = bpf_map_lookup_elem(&counters, &member);
	if (counts)
		counts->fallback++;
	trace("lb: key %x: member %u is the fallback for %u", key, member, first);
	return SK_PASS;
}

static __always_inline int select(struct sk_reuseport_md *md, struct bpf_sock *migrating)
{
	__u32 kind = lb_constants.key, key = key_of(md, migrating, kind), first;
	__u32 *known = lb_constants.flows ? bpf_map_lookup_elem(&flows, &key) : 0;
	struct lb_reuseport_counters *counts;

	first = known ? *known : owner_of(key, kind);
	if (lb_constants.flows && !known)
		count_missed(LB_REUSEPORT_FLOWS(lb_constants.capacity));
	if (take(md, first))
		return fallback(md, key, first);
	if (lb_constants.flows && !known)
		bpf_map_update_elem(&flows, &key, &first, BPF_ANY);
	counts = bpf_map_lookup_elem(&counters, &first);
	if (counts)
		counts->selected++;
	trace("lb: key %x goes to member %u", key, first);
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
