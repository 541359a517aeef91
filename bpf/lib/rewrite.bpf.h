/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * rewrite.bpf.h: gives a packet in an skb another destination, with its checksums.
 *
 * The kernel's helpers know CHECKSUM_PARTIAL and super-packets: BPF_F_PSEUDO_HDR says that a word is
 * part of the pseudo header, whose sum is what a partial checksum holds; BPF_F_MARK_MANGLED_0 that a
 * UDP checksum of 0 stays 0 and a computed 0 becomes 0xffff (RFC 768, RFC 8200 section 8.1).
 * Every helper that stores invalidates pointers into the packet, so all works by offsets.
 */
#ifndef LB_REWRITE_BPF_H
#define LB_REWRITE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/packet.h>
#include <lb/tables.h>

#define LB_IPV4_TTL 8
#define LB_IPV4_CHECK 10
#define LB_IPV4_DESTINATION 16
#define LB_IPV6_HOP_LIMIT 7
#define LB_IPV6_DESTINATION 24
#define LB_UDP_DESTINATION 2
#define LB_UDP_CHECK 6

/* One step down (RFC 791, section 3.2; RFC 8200, section 3). */
static __always_inline int lb_lower_ttl(struct __sk_buff *skb, const struct lb_packet *packet)
{
	__u8 lower = packet->ttl - 1;

	if (packet->is_v6)
		return bpf_skb_store_bytes(skb, packet->ip + LB_IPV6_HOP_LIMIT, &lower, 1, 0);
	/* TTL is the high byte of its 16-bit word; the protocol below it cancels out. */
	if (bpf_l3_csum_replace(skb, packet->ip + LB_IPV4_CHECK, bpf_htons(packet->ttl << 8),
				bpf_htons(lower << 8), 2))
		return -1;
	return bpf_skb_store_bytes(skb, packet->ip + LB_IPV4_TTL, &lower, 1, 0);
}

static __always_inline int lb_rewrite_v4(struct __sk_buff *skb, const struct lb_packet *packet,
					 const struct lb_receiver *receiver, int has_udp)
{
	__be32 from = bpf_htonl((__u32)packet->flow.destination.low);
	__be32 to = bpf_htonl((__u32)receiver->address.low);

	if (has_udp && bpf_l4_csum_replace(skb, packet->udp + LB_UDP_CHECK, from, to,
					   BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0 | 4))
		return -1;
	if (bpf_l3_csum_replace(skb, packet->ip + LB_IPV4_CHECK, from, to, 4))
		return -1;
	return bpf_skb_store_bytes(skb, packet->ip + LB_IPV4_DESTINATION, &to, 4, 0);
}

static __always_inline void lb_words_v6(struct lb_addr address, __be32 words[4])
{
	words[0] = bpf_htonl(address.high >> 32);
	words[1] = bpf_htonl((__u32)address.high);
	words[2] = bpf_htonl(address.low >> 32);
	words[3] = bpf_htonl((__u32)address.low);
}

static __always_inline int lb_rewrite_v6(struct __sk_buff *skb, const struct lb_packet *packet,
					 const struct lb_receiver *receiver, int has_udp)
{
	__be32 from[4], to[4];
	__s64 difference;

	lb_words_v6(packet->flow.destination, from);
	lb_words_v6(receiver->address, to);
	difference = bpf_csum_diff(from, sizeof(from), to, sizeof(to), 0);
	if (difference < 0)
		return -1;
	if (has_udp && bpf_l4_csum_replace(skb, packet->udp + LB_UDP_CHECK, 0, difference,
					   BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0))
		return -1;
	return bpf_skb_store_bytes(skb, packet->ip + LB_IPV6_DESTINATION, to, sizeof(to), 0);
}

/* Leads the packet to the receiver: TTL, address and, unless it is a later fragment, port. */
static __always_inline int lb_rewrite(struct __sk_buff *skb, const struct lb_packet *packet,
				      const struct lb_receiver *receiver, int has_udp)
{
	__be16 from = bpf_htons(packet->flow.destination_port);
	__be16 to = bpf_htons(receiver->port);

	if (lb_lower_ttl(skb, packet))
		return -1;
	if (packet->is_v6 ? lb_rewrite_v6(skb, packet, receiver, has_udp)
			  : lb_rewrite_v4(skb, packet, receiver, has_udp))
		return -1;
	if (!has_udp)
		return 0;
	if (bpf_l4_csum_replace(skb, packet->udp + LB_UDP_CHECK, from, to,
				BPF_F_MARK_MANGLED_0 | 2))
		return -1;
	return bpf_skb_store_bytes(skb, packet->udp + LB_UDP_DESTINATION, &to, 2, 0);
}

#endif
