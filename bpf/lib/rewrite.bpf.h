/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * rewrite.bpf.h: changes the destination of a packet in an skb, with its checksums.
 *
 * Only helpers write. For a program that writes through packet pointers the kernel copies the headers
 * of every shared packet (TCP on its way over a veth) before the program's first instruction.
 *
 * bpf_l4_csum_replace handles a partial checksum (CHECKSUM_PARTIAL): BPF_F_PSEUDO_HDR marks words of
 * the pseudo header, whose sum it is. BPF_F_MARK_MANGLED_0: a UDP checksum of 0 stays 0, a computed 0
 * becomes 0xffff (RFC 768).
 *
 * Where a NIC has summed up the whole packet (CHECKSUM_COMPLETE), BPF_F_PSEUDO_HDR assumes that only the
 * UDP checksum changes that sum. That is true for IPv4, whose header checksum compensates for its fields.
 * The rest needs bpf_csum_update, which fails, as it should, where there is no such sum; BPF_F_IPV6 would
 * do for the address, but needs Linux 6.16.
 */
#ifndef LB_REWRITE_BPF_H
#define LB_REWRITE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/checksum.h>
#include <lb/packet.h>
#include <lb/tables.h>

#define LB_IPV4_TTL 8
#define LB_IPV6_HOP_LIMIT 7
#define LB_IPV6_DESTINATION 24
#define LB_UDP_DESTINATION 2
#define LB_UDP_CHECK 6

struct lb_address_be {
	__be64 high;
	__be64 low;
};

static __always_inline struct lb_address_be lb_address_be(struct lb_addr address)
{
	struct lb_address_be be = {bpf_cpu_to_be64(address.high), bpf_cpu_to_be64(address.low)};
	return be;
}

/* The IPv4 header from its TTL on. */
struct lb_ipv4_tail {
	__u8 ttl;
	__u8 protocol;
	__be16 check;
	__be32 source;
	__be32 destination;
};

static __always_inline int lb_rewrite_v4(struct __sk_buff *skb, const struct lb_packet *packet,
					 const struct lb_receiver *receiver, __u8 ttl)
{
	__be32 from = bpf_htonl((__u32)packet->flow.destination.low);
	struct lb_ipv4_tail tail = {
		.ttl = ttl,
		.protocol = LB_IP_UDP,
		.source = bpf_htonl((__u32)packet->flow.source.low),
		.destination = bpf_htonl((__u32)receiver->address.low),
	};
	/* RFC 1624: the checksum is the complement of a sum, and the steps are added to that sum. */
	__u64 sum = (__u16)~packet->ip_check_be;

	sum += lb_csum_step(from, tail.destination);
	sum += lb_csum_step(bpf_htons(packet->ttl << 8), bpf_htons(ttl << 8));
	tail.check = ~lb_fold(sum);
	if (bpf_skb_store_bytes(skb, packet->ip + LB_IPV4_TTL, &tail, sizeof(tail), 0))
		return -1;
	if (!packet->udp_check_be)
		return 0;
	return bpf_l4_csum_replace(skb, packet->udp + LB_UDP_CHECK, from, tail.destination,
				   BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0 | 4);
}

static __always_inline int lb_rewrite_v6(struct __sk_buff *skb, const struct lb_packet *packet,
					 const struct lb_receiver *receiver, __u8 ttl)
{
	struct lb_address_be from = lb_address_be(packet->flow.destination);
	struct lb_address_be to = lb_address_be(receiver->address);
	__u64 step = lb_csum_step64(from.high, to.high) + lb_csum_step64(from.low, to.low);
	__u64 step_of_ttl = lb_csum_step(bpf_htons(packet->ttl), bpf_htons(ttl));

	if (bpf_skb_store_bytes(skb, packet->ip + LB_IPV6_DESTINATION, &to, sizeof(to), 0))
		return -1;
	if (ttl != packet->ttl &&
	    bpf_skb_store_bytes(skb, packet->ip + LB_IPV6_HOP_LIMIT, &ttl, 1, 0))
		return -1;
	bpf_csum_update(skb, lb_fold(step + step_of_ttl));
	if (!packet->udp_check_be)
		return 0;
	return bpf_l4_csum_replace(skb, packet->udp + LB_UDP_CHECK, 0, lb_fold(step),
				   BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0);
}

static __always_inline int lb_rewrite_port(struct __sk_buff *skb, const struct lb_packet *packet,
					   const struct lb_receiver *receiver)
{
	__be16 from = bpf_htons(packet->flow.destination_port);
	__be16 to = bpf_htons(receiver->port);

	/* Most listeners have the same port as their receivers. */
	if (from == to)
		return 0;
	if (!packet->udp_check_be)
		bpf_csum_update(skb, lb_fold(lb_csum_step(from, to)));
	else if (bpf_l4_csum_replace(skb, packet->udp + LB_UDP_CHECK, from, to,
				     BPF_F_MARK_MANGLED_0 | 2))
		return -1;
	return bpf_skb_store_bytes(skb, packet->udp + LB_UDP_DESTINATION, &to, sizeof(to), 0);
}

/* Changes the packet for the receiver: address, TTL or hop limit and, unless it is a later fragment,
 * port. Not 0 when the kernel refuses. */
static __always_inline int lb_rewrite(struct __sk_buff *skb, const struct lb_packet *packet,
				      const struct lb_receiver *receiver, __u8 ttl, int has_udp)
{
	if (packet->is_v6 ? lb_rewrite_v6(skb, packet, receiver, ttl)
			  : lb_rewrite_v4(skb, packet, receiver, ttl))
		return -1;
	return has_udp ? lb_rewrite_port(skb, packet, receiver) : 0;
}

#endif
