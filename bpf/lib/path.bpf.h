/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * path.bpf.h: the path of a packet to its receiver from the TC hook.
 */
#ifndef LB_PATH_BPF_H
#define LB_PATH_BPF_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

#include "rewrite.bpf.h"

#define AF_INET 2
#define AF_INET6 10
#define LB_IPV6_MTU_MIN 1280
/* RFC 791, section 3.1: flags and offset, and the flag "don't fragment". */
#define LB_IPV4_FRAGMENT 6
#define LB_IPV4_DONT_FRAGMENT 0x4000
#define LOOPBACK_IFINDEX 1 /* net/flow.h */

/* The path of one packet: up the stack, or to `ifindex`. */
struct lb_way {
	enum lb_path path; /* not LB_PATH_FIB */
	__u32 ifindex;
	struct bpf_redir_neigh next; /* LB_PATH_NEIGH */
};

/* Bytes of the IP packet; for a super-packet, which is split on its way out, those of a segment. */
static __always_inline __u32 ip_bytes(const struct __sk_buff *skb, const struct lb_packet *packet)
{
	if (skb->gso_size)
		return packet->udp + 8 - packet->ip + skb->gso_size;
	return skb->len - packet->ip;
}

/* Since Linux 6.3 the lookup can skip the neighbour, which bpf_redirect_neigh resolves anyway; an older
 * kernel refuses the flag. */
#ifndef BPF_FIB_LOOKUP_SKIP_NEIGH
#define BPF_FIB_LOOKUP_SKIP_NEIGH (1U << 2)
#endif
#define LB_EINVAL 22

static __always_inline int find_route(struct __sk_buff *skb, struct bpf_fib_lookup *fib)
{
	int result = bpf_fib_lookup(skb, fib, sizeof(*fib), BPF_FIB_LOOKUP_SKIP_NEIGH);

	return result == -LB_EINVAL ? bpf_fib_lookup(skb, fib, sizeof(*fib), 0) : result;
}

/* The length that the kernel compares with the route's MTU; 0 skips the check. No link has an MTU below
 * 1280 for IPv6 (RFC 8200, section 5). */
static __always_inline __u16 questionable_length(const struct lb_receiver *receiver, __u32 bytes)
{
	return receiver->is_v6 && bytes <= LB_IPV6_MTU_MIN ? 0 : bytes;
}

/* Whether the stack forwards packets that the interface does not forward by the lookup. For IPv4 both use
 * the interface's setting; for IPv6 the stack uses the host's (net/ipv6/ip6_output.c, ip6_forward), which
 * the loopback's follows. */
static __always_inline int stack_forwards(struct __sk_buff *skb, struct bpf_fib_lookup *fib)
{
	if (fib->family != AF_INET6)
		return 0;
	fib->ifindex = LOOPBACK_IFINDEX;
	return find_route(skb, fib) != BPF_FIB_LKUP_RET_FWD_DISABLED;
}

/* Whether a router must not fragment a packet that exceeds the MTU. */
static __always_inline int is_indivisible(struct __sk_buff *skb, const struct lb_packet *packet)
{
	__be16 fragment = 0;

	if (packet->is_v6)
		return 1;
	bpf_skb_load_bytes(skb, packet->ip + LB_IPV4_FRAGMENT, &fragment, sizeof(fragment));
	return (fragment & bpf_htons(LB_IPV4_DONT_FRAGMENT)) != 0;
}

/* Looks the route up. Packets that the stack would drop are dropped here, where they are counted; other
 * packets without a path go up to it. */
static __always_inline int look_up(struct __sk_buff *skb, const struct lb_packet *packet,
				   const struct lb_receiver *receiver, struct lb_way *way)
{
	struct bpf_fib_lookup fib = {
		.family = receiver->is_v6 ? AF_INET6 : AF_INET,
		.l4_protocol = LB_IP_UDP,
		.sport = bpf_htons(packet->flow.source_port),
		.dport = bpf_htons(receiver->port),
		.tot_len = questionable_length(receiver, ip_bytes(skb, packet)),
		.ifindex = skb->ingress_ifindex,
	};

	if (receiver->is_v6) {
		fib.flowinfo = bpf_htonl((__u32)packet->traffic_class << 20);
		*(struct lb_address_be *)fib.ipv6_src = lb_address_be(packet->flow.source);
		*(struct lb_address_be *)fib.ipv6_dst = lb_address_be(receiver->address);
	} else {
		fib.tos = packet->traffic_class;
		fib.ipv4_src = bpf_htonl((__u32)packet->flow.source.low);
		fib.ipv4_dst = bpf_htonl((__u32)receiver->address.low);
	}
	way->path = LB_PATH_STACK;
	switch (find_route(skb, &fib)) {
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
		return stack_forwards(skb, &fib) ? -1 : LB_DROP_UNREACHABLE;
	case BPF_FIB_LKUP_RET_NOT_FWDED:
		/* No route, or one to this host. */
		return receiver->flags & LB_RECEIVER_REMOTE ? LB_DROP_UNREACHABLE : -1;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
	case BPF_FIB_LKUP_RET_UNREACHABLE:
		return LB_DROP_UNREACHABLE;
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return LB_DROP_NOT_PERMITTED;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return is_indivisible(skb, packet) ? LB_DROP_MESSAGE_TOO_LONG : -1;
	case BPF_FIB_LKUP_RET_SUCCESS:
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		if (receiver->path == LB_PATH_STACK)
			return -1;
		way->path = LB_PATH_NEIGH;
		way->ifindex = fib.ifindex;
		way->next.nh_family = fib.family;
		__builtin_memcpy(way->next.ipv6_nh, fib.ipv6_dst, sizeof(fib.ipv6_dst));
	}
	return -1;
}

/* Finds the path; a drop reason, or -1 when the packet is not dropped. */
static __always_inline int find_way(struct __sk_buff *skb, const struct lb_packet *packet,
				    const struct lb_receiver *receiver, struct lb_way *way)
{
	way->path = receiver->path;
	way->ifindex = receiver->ifindex;
	if (receiver->flags & LB_RECEIVER_UNPLUGGED)
		return LB_DROP_UNREACHABLE;
	/* The stack itself lowers the TTL of a packet that it forwards, and a packet for this host may have
	 * any. The lookup shows whether the stack will forward it. */
	if (way->path == LB_PATH_STACK) {
		if (!(receiver->flags & LB_RECEIVER_REMOTE))
			return -1;
		way->path = LB_PATH_FIB;
	}
	/* A packet above the MTU of the plane's route is looked up in the kernel. */
	if (receiver->mtu && ip_bytes(skb, packet) > receiver->mtu)
		way->path = LB_PATH_FIB;
	if (packet->ttl <= 1)
		return LB_DROP_TTL_EXPIRED;
	if (way->path == LB_PATH_FIB)
		return look_up(skb, packet, receiver, way);
	if (way->path == LB_PATH_PEER)
		return -1;
	if (receiver->is_v6) {
		way->next.nh_family = AF_INET6;
		*(struct lb_address_be *)way->next.ipv6_nh = lb_address_be(receiver->next_hop);
	} else {
		way->next.nh_family = AF_INET;
		way->next.ipv4_nh = bpf_htonl((__u32)receiver->next_hop.low);
	}
	return -1;
}

/* Sends the packet, which is rewritten for the receiver. TC_ACT_SHOT when the kernel refuses. */
static __always_inline int send(struct __sk_buff *skb, const struct lb_receiver *receiver,
				struct lb_way *way)
{
	switch (way->path) {
	case LB_PATH_NEIGH:
		return bpf_redirect_neigh(way->ifindex, &way->next, sizeof(way->next), 0);
	case LB_PATH_PEER:
		if (bpf_skb_store_bytes(skb, 0, receiver->mac, sizeof(receiver->mac), 0))
			return TC_ACT_SHOT;
		return bpf_redirect_peer(way->ifindex, 0);
	default:
		return TC_ACT_UNSPEC;
	}
}

/* Removes the tags, the one in the skb's metadata and those in the packet: the output interface decides
 * about tags. */
static __always_inline int untag(struct __sk_buff *skb, struct lb_packet *packet)
{
	for (int i = 0; i < 3 && (skb->vlan_present || packet->tags); i++) {
		__u8 in_frame = !skb->vlan_present;

		if (bpf_skb_vlan_pop(skb))
			return -1;
		/* Removing the tag in the metadata moves the next one there from the packet. */
		if (packet->tags) {
			packet->tags--;
			packet->ip -= 4;
			packet->udp -= 4;
		}
		if (in_frame && !packet->tags)
			break;
	}
	return 0;
}

/* Sends the packet along its path. TC_ACT_SHOT when the kernel refuses. */
static __always_inline int forward(struct __sk_buff *skb, struct lb_packet *packet,
				   const struct lb_receiver *receiver, struct lb_way *way,
				   int has_udp)
{
	__u8 ttl = way->path == LB_PATH_STACK ? packet->ttl : packet->ttl - 1;

	if (untag(skb, packet) || lb_rewrite(skb, packet, receiver, ttl, has_udp))
		return TC_ACT_SHOT;
	return send(skb, receiver, way);
}

#endif
