/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * packet.h: from the bytes of a frame to the flow of a UDP datagram. One copy for the kernel
 * programs, for the AF_XDP workers and for the fuzzer.
 *
 * Only what the kernel's own stack would deliver is a datagram here. What it would throw away is
 * LB_PARSE_OTHER, so that it throws it away itself and counts it where people look (nstat).
 */
#ifndef LB_PACKET_H
#define LB_PACKET_H

#include "flow_key.h"

enum lb_parse {
	LB_PARSE_OTHER,	   /* not UDP over IP, or not well-formed: not ours */
	LB_PARSE_DATAGRAM, /* a whole datagram */
	LB_PARSE_FIRST,	   /* the first fragment of one: it has the ports */
	LB_PARSE_LATER,	   /* a later fragment: the ports in `flow` are 0 */
};

struct lb_packet {
	struct lb_flow flow;
	__u32 fragment_id; /* fragments only: IPv4 16 bits, IPv6 32 bits; as on the wire */
	__u32 payload; /* bytes of UDP payload; of a later fragment: bytes after its IP headers */
	__u16 ip;      /* where the IP header begins, in bytes from the start of the frame */
	__u16 udp;     /* where the UDP header (of a later fragment: its data) begins */
	__u8 is_v6;
	__u8 ttl;	  /* or hop limit */
	__u8 tags;	  /* VLAN tags in the frame */
	__u8 has_options; /* IPv4 options or IPv6 extension headers */
};

/* Extension headers that are looked behind; more than hosts send, fewer than an attacker likes. */
#define LB_EXTENSIONS_MAX 6

#define LB_ETHERTYPE_IPV4 0x0800
#define LB_ETHERTYPE_IPV6 0x86dd
#define LB_ETHERTYPE_VLAN 0x8100 /* IEEE 802.1Q */
#define LB_ETHERTYPE_QINQ 0x88a8 /* IEEE 802.1ad */
#define LB_IP_UDP 17

/* Words as they stand in a header, at any alignment. clang would read them byte by byte for BPF, where
 * the kernel's verifier allows a plain load. */
#ifdef __bpf__
#define LB_LOAD(type, at) (*(const type *)(at))
#else
#define LB_LOAD(type, at) (((const struct { type value; } __attribute__((packed)) *)(at))->value)
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LB_SWAP16(x) __builtin_bswap16(x)
#define LB_SWAP32(x) __builtin_bswap32(x)
#else
#define LB_SWAP16(x) (x)
#define LB_SWAP32(x) (x)
#endif

LB_INLINE __u16 lb_be16(const __u8 *at)
{
	return LB_SWAP16(LB_LOAD(__u16, at));
}

LB_INLINE __u32 lb_be32(const __u8 *at)
{
	return LB_SWAP32(LB_LOAD(__u32, at));
}

LB_INLINE __u64 lb_be64(const __u8 *at)
{
	return (__u64)lb_be32(at) << 32 | lb_be32(at + 4);
}

/* The UDP header at `at`, when `left` bytes of IP payload follow in a frame that is not cut. */
LB_INLINE enum lb_parse lb_parse_udp(const __u8 *at, const __u8 *end, __u32 left,
				     enum lb_parse kind, struct lb_packet *packet)
{
	__u32 length;

	if (kind == LB_PARSE_LATER)
		return kind;
	if (at + 8 > end || left < 8)
		return LB_PARSE_OTHER;
	length = lb_be16(at + 4);
	/* The stack takes a datagram that is shorter than its packet, never one that is longer. */
	if (length < 8 || (kind == LB_PARSE_DATAGRAM && length > left))
		return LB_PARSE_OTHER;
	packet->flow.source_port = lb_be16(at);
	packet->flow.destination_port = lb_be16(at + 2);
	packet->payload = length - 8;
	return kind;
}

LB_INLINE enum lb_parse lb_parse_v4(const __u8 *at, const __u8 *end, __u32 available,
				    struct lb_packet *packet)
{
	enum lb_parse kind = LB_PARSE_DATAGRAM;
	__u32 header, total;
	__u16 fragment;

	if (at + 20 > end || (at[0] & 0xf0) != 0x40 || at[9] != LB_IP_UDP)
		return LB_PARSE_OTHER;
	header = (at[0] & 0x0f) * 4u;
	total = lb_be16(at + 2);
	if (header < 20 || total < header || total > available)
		return LB_PARSE_OTHER;
	fragment = lb_be16(at + 6);
	if (fragment & 0x1fff)
		kind = LB_PARSE_LATER;
	else if (fragment & 0x2000)
		kind = LB_PARSE_FIRST;
	packet->fragment_id = lb_be16(at + 4);
	packet->ttl = at[8];
	packet->has_options = header > 20;
	packet->flow.source = lb_addr_v4(lb_be32(at + 12));
	packet->flow.destination = lb_addr_v4(lb_be32(at + 16));
	packet->udp = (__u16)(packet->ip + header);
	return lb_parse_udp(at + header, end, total - header, kind, packet);
}

LB_INLINE enum lb_parse lb_parse_v6(const __u8 *at, const __u8 *end, __u32 available,
				    struct lb_packet *packet)
{
	enum lb_parse kind = LB_PARSE_DATAGRAM;
	const __u8 *next = at + 40;
	__u32 left;
	__u8 protocol;

	if (next > end || (at[0] & 0xf0) != 0x60)
		return LB_PARSE_OTHER;
	left = lb_be16(at + 4);
	if (left + 40 > available)
		return LB_PARSE_OTHER;
	packet->is_v6 = 1;
	packet->ttl = at[7];
	packet->flow.source.high = lb_be64(at + 8);
	packet->flow.source.low = lb_be64(at + 16);
	packet->flow.destination.high = lb_be64(at + 24);
	packet->flow.destination.low = lb_be64(at + 32);
	packet->udp = (__u16)(packet->ip + 40);
	protocol = at[6];
	/* RFC 8200, section 4: hop-by-hop 0, routing 43, fragment 44, destination options 60. */
	for (int i = 0; i < LB_EXTENSIONS_MAX && protocol != LB_IP_UDP; i++) {
		__u32 bytes = 8;

		if (next + 8 > end || left < 8)
			return LB_PARSE_OTHER;
		if (protocol == 44) {
			__u16 fragment = lb_be16(next + 2);

			if (fragment & 0xfff8)
				kind = LB_PARSE_LATER;
			else if (fragment & 1)
				kind = LB_PARSE_FIRST;
			packet->fragment_id = lb_be32(next + 4);
		} else if (protocol == 0 || protocol == 60 || (protocol == 43 && next[3] == 0)) {
			/* A routing header with segments left names a destination yet to come. */
			bytes = (next[1] + 1u) * 8;
		} else {
			return LB_PARSE_OTHER;
		}
		if (left < bytes)
			return LB_PARSE_OTHER;
		protocol = next[0];
		packet->has_options = 1;
		packet->udp = (__u16)(packet->udp + bytes);
		left -= bytes;
		next += bytes;
		/* What follows the fragment header of a later fragment is data. */
		if (kind == LB_PARSE_LATER)
			break;
	}
	if (protocol != LB_IP_UDP)
		return LB_PARSE_OTHER;
	return lb_parse_udp(next, end, left, kind, packet);
}

/*
 * Parses an Ethernet frame.
 *
 * @data, @end  the bytes at hand; all headers must be among them
 * @length      bytes of the whole frame, of which some may lie elsewhere
 * @packet      filled in as far as the result says; unspecified for LB_PARSE_OTHER
 */
LB_INLINE enum lb_parse lb_parse_frame(const __u8 *data, const __u8 *end, __u32 length,
				       struct lb_packet *packet)
{
	const __u8 *at = data + 14;
	__u16 type;

	if (at > end)
		return LB_PARSE_OTHER;
	__builtin_memset(packet, 0, sizeof(*packet));
	type = lb_be16(data + 12);
	/* Two tags at most. A NIC or the kernel may have taken the outer one off before. */
	for (int i = 0; i < 2; i++) {
		if (type != LB_ETHERTYPE_VLAN && type != LB_ETHERTYPE_QINQ)
			break;
		if (at + 4 > end)
			return LB_PARSE_OTHER;
		type = lb_be16(at + 2);
		at += 4;
		packet->tags++;
	}
	packet->ip = (__u16)(14 + 4 * packet->tags);
	if (length < packet->ip)
		return LB_PARSE_OTHER;
	if (type == LB_ETHERTYPE_IPV4)
		return lb_parse_v4(at, end, length - packet->ip, packet);
	if (type == LB_ETHERTYPE_IPV6)
		return lb_parse_v6(at, end, length - packet->ip, packet);
	return LB_PARSE_OTHER;
}

_Static_assert(sizeof(struct lb_packet) == 56, "lb_packet has no hidden padding");

#endif
