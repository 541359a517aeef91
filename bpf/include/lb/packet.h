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
#include "wire.h"

enum lb_parse {
	LB_PARSE_OTHER,	   /* not UDP over IP, or nothing that a host would take: not ours */
	LB_PARSE_SHORT,	   /* headers are not all at hand; of a whole frame, the same as OTHER */
	LB_PARSE_DATAGRAM, /* a whole datagram */
	LB_PARSE_FIRST,	   /* the first fragment of one: it has the ports */
	LB_PARSE_LATER,	   /* a later fragment: the ports in `flow` are 0 */
};

struct lb_packet {
	struct lb_flow flow;
	__u32 fragment_id;  /* fragments only: IPv4 16 bits, IPv6 32 bits */
	__u32 payload;	    /* bytes of UDP payload; unspecified for a later fragment */
	__u16 ip;	    /* where the IP header begins, in bytes from the start of the frame */
	__u16 udp;	    /* where the UDP header (of a later fragment: its data) begins */
	__u16 ip_check_be;  /* IPv4 header checksum, as on the wire */
	__u16 udp_check_be; /* UDP checksum, as on the wire; 0 of a later fragment */
	__u8 is_v6;
	__u8 ttl;	    /* or hop limit */
	__u8 traffic_class; /* or type of service */
	__u8 tags;	    /* priority tags in the frame */
	__u16 fragment;	    /* LB_FRAGMENT_OFFSET, LB_FRAGMENT_MORE; 0 of a whole datagram */
	__u16 reserved;	    /* zero */
};

/* Of a fragment: its offset in units of 8 bytes, and whether more follow. */
#define LB_FRAGMENT_OFFSET 0x1fff
#define LB_FRAGMENT_MORE 0x2000

/* IPv4 options that are looked at; a byte of padding counts as one. */
#define LB_OPTIONS_MAX 8
/* Extension headers that are looked behind; more than hosts send, fewer than an attacker likes. */
#define LB_EXTENSIONS_MAX 6
/* The most bytes before a UDP payload that are looked at: Ethernet, two tags, IPv6, its extension
 * headers or as many as fit, UDP. */
#define LB_HEADERS_MAX (14 + 8 + 40 + 64 + 8)

#define LB_ETHERTYPE_IPV4 0x0800
#define LB_ETHERTYPE_IPV6 0x86dd
#define LB_ETHERTYPE_VLAN 0x8100 /* IEEE 802.1Q */
#define LB_ETHERTYPE_QINQ 0x88a8 /* IEEE 802.1ad */
#define LB_IP_UDP 17

/* Reads a field back. The verifier knows nothing of what it holds, so it takes ways through the headers
 * that differ in no more than that for one way; otherwise it would walk thousands. */
#define LB_FORGET(field) (*(volatile __typeof__(field) *)&(field))

/* Hides from the compiler where a number comes from. It would take `a + 20 <= 134 ? data + a + 20 : 0` apart
 * and add the two separately, and verifiers before Linux 6.18 do not see that what was compared is what
 * is added. */
#ifdef __bpf__
#define LB_OPAQUE(number) __asm__ volatile("" : "+r"(number))
#else
#define LB_OPAQUE(number) ((void)0)
#endif

/* The VLAN of a tag (IEEE 802.1Q); 0 in a tag that gives a priority alone, which hosts ignore. */
#define LB_VLAN_ID 0x0fff

/* `bytes` of the frame from `offset` on; null when they are not at hand, or further on than headers
 * reach. */
LB_INLINE const __u8 *lb_bytes(const __u8 *data, const __u8 *end, __u64 offset, __u32 bytes)
{
	const __u8 *at;

	LB_OPAQUE(offset);
	if (offset > LB_HEADERS_MAX)
		return 0;
	at = data + offset;
	return at + bytes <= end ? at : 0;
}

/* What stands behind all IP headers, `left` bytes of it in a frame that is not cut. */
LB_INLINE enum lb_parse lb_parse_udp(const __u8 *data, const __u8 *end, __u32 left,
				     struct lb_packet *packet)
{
	__u16 fragment = packet->fragment;
	const __u8 *at;
	__u32 length;

	if (fragment & LB_FRAGMENT_OFFSET)
		return LB_PARSE_LATER;
	if (left < 8)
		return LB_PARSE_OTHER;
	at = lb_bytes(data, end, LB_FORGET(packet->udp), 8);
	if (!at)
		return LB_PARSE_SHORT;
	length = lb_be16(at + 4);
	/* The stack takes a datagram that is shorter than its packet, never one that is longer. */
	if (length < 8 || (!fragment && length > left))
		return LB_PARSE_OTHER;
	packet->udp_check_be = LB_LOAD(__u16, at + 6);
	/* No checksum is for IPv4 alone (RFC 8200, section 8.1). */
	if (packet->is_v6 && !packet->udp_check_be)
		return LB_PARSE_OTHER;
	packet->flow.source_port = lb_be16(at);
	packet->flow.destination_port = lb_be16(at + 2);
	if (!packet->flow.destination_port)
		return LB_PARSE_OTHER;
	packet->payload = length - 8;
	return fragment ? LB_PARSE_FIRST : LB_PARSE_DATAGRAM;
}

/* Reads IPv4 options from packet->udp to `rest`. 0 when one makes hosts refuse the packet: a length of
 * nothing, or a route to take first (131, 137). Who sends more than one looks at is refused too. */
LB_INLINE int lb_takes_options(const __u8 *data, const __u8 *end, __u32 rest,
			       struct lb_packet *packet)
{
	for (int i = 0; i < LB_OPTIONS_MAX; i++) {
		__u32 offset = LB_FORGET(packet->udp);
		const __u8 *at = lb_bytes(data, end, offset, 2);

		/* Type 0 ends the list; the last byte can hold nothing else that matters. */
		if (!at || offset + 1 >= rest || at[0] == 0)
			return 1;
		if (at[0] == 131 || at[0] == 137 || (at[0] != 1 && at[1] < 2))
			return 0;
		packet->udp = (__u16)(offset + (at[0] == 1 ? 1 : at[1]));
	}
	return 0;
}

/* The options of an IPv4 header: their part of the header's sum in `sum`; 0 when hosts refuse them. */
LB_INLINE int lb_parse_options(const __u8 *data, const __u8 *end, __u32 header, __u64 *sum,
			       struct lb_packet *packet)
{
	for (__u32 i = 20; i < 60 && i < header; i += 4) {
		const __u8 *at = lb_bytes(data, end, LB_FORGET(packet->ip) + i, 4);

		*sum += at ? LB_LOAD(__u32, at) : 0;
	}
	packet->udp = (__u16)(packet->ip + 20);
	return lb_takes_options(data, end, packet->ip + header, packet);
}

LB_INLINE enum lb_parse lb_parse_v4(const __u8 *data, const __u8 *end, __u32 available,
				    struct lb_packet *packet)
{
	const __u8 *at = lb_bytes(data, end, packet->ip, 20);
	__u32 header, total, source, destination;
	__u64 sum = 0;

	if (!at)
		return LB_PARSE_SHORT;
	if ((at[0] & 0xf0) != 0x40 || at[9] != LB_IP_UDP)
		return LB_PARSE_OTHER;
	header = (at[0] & 0x0f) * 4u;
	total = lb_be16(at + 2);
	source = lb_be32(at + 12);
	destination = lb_be32(at + 16);
	if (header < 20 || total < header || total > available || lb_is_martian_v4(source) ||
	    lb_is_martian_v4(destination))
		return LB_PARSE_OTHER;
	packet->fragment_id = lb_be16(at + 4);
	packet->fragment = lb_be16(at + 6) & (LB_FRAGMENT_OFFSET | LB_FRAGMENT_MORE);
	packet->traffic_class = at[1];
	packet->ttl = at[8];
	packet->ip_check_be = LB_LOAD(__u16, at + 10);
	packet->flow.source = lb_addr_v4(source);
	packet->flow.destination = lb_addr_v4(destination);
	for (__u32 i = 0; i < 20; i += 4)
		sum += LB_LOAD(__u32, at + i);
	if (header > 20) {
		if (!lb_bytes(data, end, LB_FORGET(packet->ip) + header, 0))
			return LB_PARSE_SHORT;
		if (!lb_parse_options(data, end, header, &sum, packet))
			return LB_PARSE_OTHER;
	}
	if (lb_fold(sum) != 0xffff)
		return LB_PARSE_OTHER;
	packet->udp = (__u16)(packet->ip + header);
	return lb_parse_udp(data, end, total - header, packet);
}

/* Reads extension headers from packet->udp on, `left` bytes of packet behind it; the bytes that are left
 * behind them, or -1 when it is not UDP that follows, or -2 when they are not all at hand. */
LB_INLINE __s32 lb_parse_extensions(const __u8 *data, const __u8 *end, __u8 protocol, __u32 left,
				    struct lb_packet *packet)
{
	/* RFC 8200, section 4: hop-by-hop 0, routing 43, fragment 44, destination options 60. */
	for (int i = 0; i < LB_EXTENSIONS_MAX && protocol != LB_IP_UDP; i++) {
		__u32 offset = LB_FORGET(packet->udp), bytes = 8;
		const __u8 *at = lb_bytes(data, end, offset, 8);

		if (left < 8)
			return -1;
		if (!at)
			return -2;
		if (protocol == 44) {
			__u16 fragment = lb_be16(at + 2);

			packet->fragment = fragment >> 3 | (fragment & 1) << 13;
			packet->fragment_id = lb_be32(at + 4);
		} else if (protocol == 0 || protocol == 60 || (protocol == 43 && at[3] == 0)) {
			/* A routing header with segments left names a destination yet to come. */
			bytes = (at[1] + 1u) * 8;
		} else {
			return -1;
		}
		if (left < bytes)
			return -1;
		left -= bytes;
		packet->udp = (__u16)(offset + bytes);
		protocol = at[0];
		/* What follows the fragment header of a later fragment is data. */
		if (LB_FORGET(packet->fragment) & LB_FRAGMENT_OFFSET)
			break;
	}
	return protocol == LB_IP_UDP ? (__s32)left : -1;
}

LB_INLINE enum lb_parse lb_parse_v6(const __u8 *data, const __u8 *end, __u32 available,
				    struct lb_packet *packet)
{
	const __u8 *at = lb_bytes(data, end, packet->ip, 40);
	__s32 left;

	if (!at)
		return LB_PARSE_SHORT;
	left = lb_be16(at + 4);
	if ((at[0] & 0xf0) != 0x60 || (__u32)left + 40 > available)
		return LB_PARSE_OTHER;
	packet->is_v6 = 1;
	packet->ttl = at[7];
	packet->traffic_class = (__u8)(lb_be16(at) >> 4);
	packet->flow.source = lb_addr_v6(at + 8);
	packet->flow.destination = lb_addr_v6(at + 24);
	if (lb_is_martian_v6(packet->flow.source) || lb_is_martian_v6(packet->flow.destination))
		return LB_PARSE_OTHER;
	packet->udp = (__u16)(packet->ip + 40);
	if (at[6] != LB_IP_UDP) {
		left = lb_parse_extensions(data, end, at[6], (__u32)left, packet);
		if (left < 0)
			return left == -1 ? LB_PARSE_OTHER : LB_PARSE_SHORT;
	}
	return lb_parse_udp(data, end, (__u32)left, packet);
}

/*
 * Parses an Ethernet frame.
 *
 * @data, @end  the bytes at hand
 * @length      bytes of the whole frame, of which some may lie elsewhere
 * @packet      filled in as far as the result says; unspecified for LB_PARSE_OTHER and
 *              LB_PARSE_SHORT
 */
LB_INLINE enum lb_parse lb_parse_frame(const __u8 *data, const __u8 *end, __u32 length,
				       struct lb_packet *packet)
{
	const __u8 *at = data + 12;
	__u16 type, offset = 14;

	if (data + 14 > end)
		return LB_PARSE_SHORT;
	__builtin_memset(packet, 0, sizeof(*packet));
	type = lb_be16(at);
	/* What is in a VLAN is for the VLAN's own interface. Two priority tags at most; a NIC or the kernel may
	 * have taken the outer one off before. */
	for (int i = 0; i < 2; i++) {
		if (type != LB_ETHERTYPE_VLAN && type != LB_ETHERTYPE_QINQ)
			break;
		at += 4;
		if (at + 2 > end)
			return LB_PARSE_SHORT;
		if (lb_be16(at - 2) & LB_VLAN_ID)
			return LB_PARSE_OTHER;
		type = lb_be16(at);
		offset += 4;
	}
	packet->tags = (__u8)((offset - 14) / 4);
	packet->ip = offset;
	if (length < offset)
		return LB_PARSE_OTHER;
	if (type == LB_ETHERTYPE_IPV4)
		return lb_parse_v4(data, end, length - offset, packet);
	if (type == LB_ETHERTYPE_IPV6)
		return lb_parse_v6(data, end, length - offset, packet);
	return LB_PARSE_OTHER;
}

_Static_assert(sizeof(struct lb_packet) == 64, "lb_packet has no hidden padding");

#endif
