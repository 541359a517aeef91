/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * packet.h: from the bytes of a frame to its flow. The only parser: the kernel programs, the AF_XDP
 * workers and the fuzzer share it. tc_fanout, xdp_steer and the workers use UDP datagrams
 * (lb_parse_datagram); xdp_nat also uses TCP and ICMP errors, and needs the reason for other frames.
 */
#ifndef LB_PACKET_H
#define LB_PACKET_H

#include "flow_key.h"
#include "wire.h"

enum lb_parse {
	LB_PARSE_OTHER,	    /* not one of the protocols asked for; packet->reason says why */
	LB_PARSE_MALFORMED, /* one of them, but a host would refuse it; packet->reason says why */
	LB_PARSE_SHORT,	    /* headers are not all at hand; of a whole frame, the same as OTHER */
	LB_PARSE_DATAGRAM,  /* a whole datagram, or segment of TCP */
	LB_PARSE_FIRST,	    /* the first fragment of one: it has the ports */
	LB_PARSE_LATER,	    /* a later fragment: the ports in `flow` are 0 */
	LB_PARSE_ERROR,	    /* an ICMP error: its own header is at `udp` */
};

/* Why a frame is LB_PARSE_OTHER, LB_PARSE_MALFORMED or LB_PARSE_SHORT. */
enum lb_parse_reason {
	LB_REASON_NOT_IP,
	LB_REASON_VLAN,		 /* tagged for a VLAN */
	LB_REASON_PROTOCOL,	 /* none of the protocols asked for */
	LB_REASON_FRAGMENT,	 /* a fragment of an ICMP error */
	LB_REASON_HEADER_LONG,	 /* options or extension headers beyond what is looked at */
	LB_REASON_HEADER_SHORT,	 /* an IPv4 header below 20 bytes */
	LB_REASON_LENGTH,	 /* a length beyond the frame, or without room for what follows */
	LB_REASON_IP_CHECKSUM,	 /* of the IPv4 header */
	LB_REASON_TRANSPORT,	 /* UDP or TCP headers that do not fit their packet */
	LB_REASON_UDP_CHECKSUM,	 /* none, over IPv6, where it is required */
	LB_REASON_NOT_FOR_HOSTS, /* addresses or a port to which hosts take no datagram */
};

/* Protocols to ask for, as bits. */
enum lb_protocols {
	LB_TAKE_UDP = 1,
	LB_TAKE_TCP = 2,
	LB_TAKE_ICMP_ERRORS = 4,
};

struct lb_packet {
	struct lb_flow flow;
	__u32 fragment_id; /* fragments only: IPv4 16 bits, IPv6 32 bits */
	__u32 payload; /* bytes behind the UDP, TCP or ICMP header; unspecified for a later fragment */
	__u16 bytes; /* of the IP packet; of a longer one of IPv6, 65535 */
	__u16 ip;    /* where the IP header begins, in bytes from the start of the frame */
	__u16 udp;   /* where the UDP, TCP or ICMP header (of a later fragment: its data) begins */
	__u16 ip_check_be; /* IPv4 header checksum, as on the wire */
	__u16 udp_check_be; /* UDP checksum, as on the wire; 0 of a later fragment and other protocols */
	__u16 fragment; /* LB_FRAGMENT_OFFSET, LB_FRAGMENT_MORE; 0 of a whole datagram */
	__u8 is_v6;
	__u8 protocol;	    /* LB_IP_UDP, LB_IP_TCP, LB_IP_ICMP, LB_IP_ICMPV6 */
	__u8 ttl;	    /* or hop limit */
	__u8 traffic_class; /* or type of service */
	__u8 tags;	    /* priority tags in the frame */
	__u8 reason;	    /* enum lb_parse_reason */
	__u8 in_stack;	    /* the caller's: the frame is in the network stack, nat_partial.bpf.h */
	__u8 reserved[5];   /* zero */
};

/* Of a fragment: its offset in units of 8 bytes, and whether more follow. */
#define LB_FRAGMENT_OFFSET 0x1fff
#define LB_FRAGMENT_MORE 0x2000

/* The limit of IPv4 options; a byte of padding counts as one. */
#define LB_OPTIONS_MAX 8
/* The limit of extension headers; more than hosts send. */
#define LB_EXTENSIONS_MAX 6
/* The limit of bytes before a UDP payload: Ethernet, two tags, IPv6, its extension headers or as many as
 * fit, UDP. */
#define LB_HEADERS_MAX (14 + 8 + 40 + 64 + 8)

#define LB_ETHERTYPE_IPV4 0x0800
#define LB_ETHERTYPE_IPV6 0x86dd
#define LB_ETHERTYPE_VLAN 0x8100 /* IEEE 802.1Q */
#define LB_ETHERTYPE_QINQ 0x88a8 /* IEEE 802.1ad */
/* Protocol numbers (IANA). */
#define LB_IP_ICMP 1
#define LB_IP_TCP 6
#define LB_IP_UDP 17
#define LB_IP_FRAGMENT 44
#define LB_IP_ICMPV6 58

/* Bytes of UDP payload in the packet. A first fragment does not have all of them; padding does not count. */
LB_INLINE __u32 lb_payload_in(const struct lb_packet *packet)
{
	__u32 room = (__u32)packet->ip + packet->bytes - packet->udp - 8;

	if (packet->protocol != LB_IP_UDP)
		return 0;
	return packet->payload < room ? packet->payload : room;
}

/* Reads a field back. The verifier then does not know its value, so it treats paths through the headers
 * that differ only in that as one path; otherwise it would walk thousands. */
#define LB_FORGET(field) (*(volatile __typeof__(field) *)&(field))

/* The VLAN of a tag (IEEE 802.1Q); 0 in a priority tag, which hosts ignore. */
#define LB_VLAN_ID 0x0fff

/* `bytes` of the frame from `offset` on; null when they are not at hand, or beyond the limit of headers. */
LB_INLINE const __u8 *lb_bytes(const __u8 *data, const __u8 *end, __u64 offset, __u32 bytes)
{
	const __u8 *at;

	LB_OPAQUE(offset);
	if (offset > LB_HEADERS_MAX)
		return 0;
	at = data + offset;
	return at + bytes <= end ? at : 0;
}

LB_INLINE enum lb_parse lb_refuse(struct lb_packet *packet, enum lb_parse kind,
				  enum lb_parse_reason reason)
{
	packet->reason = (__u8)reason;
	return kind;
}

LB_INLINE int lb_takes(__u32 protocols, __u8 protocol)
{
	return (protocols & LB_TAKE_UDP && protocol == LB_IP_UDP) ||
	       (protocols & LB_TAKE_TCP && protocol == LB_IP_TCP);
}

/* The header of UDP or TCP at `at`, which has 8 bytes at hand; `left` bytes of packet from there on. */
LB_INLINE enum lb_parse lb_parse_transport(const __u8 *at, const __u8 *end, __u32 left,
					   struct lb_packet *packet)
{
	__u32 length = 8;

	if (left < 8)
		return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_TRANSPORT);
	if (packet->protocol == LB_IP_UDP) {
		length = lb_be16(at + 4);
		/* The stack accepts a datagram that is shorter than its packet, but not a longer one. */
		if (length < 8 || (!packet->fragment && length > left))
			return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_TRANSPORT);
		packet->udp_check_be = LB_LOAD(__u16, at + 6);
		/* Only IPv4 allows no checksum (RFC 8200, section 8.1). */
		if (packet->is_v6 && !packet->udp_check_be)
			return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_UDP_CHECKSUM);
		packet->payload = length - 8;
	} else {
		if (left < 20 || at + 20 > end)
			return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_TRANSPORT);
		length = (at[12] >> 4) * 4u;
		if (length < 20 || length > left)
			return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_TRANSPORT);
		packet->payload = left - length;
	}
	packet->flow.source_port = lb_be16(at);
	packet->flow.destination_port = lb_be16(at + 2);
	return packet->fragment ? LB_PARSE_FIRST : LB_PARSE_DATAGRAM;
}

/* Types of ICMP errors that quote a packet: RFC 792 and RFC 4443. */
LB_INLINE int lb_is_icmp_error(__u8 type, int is_v6)
{
	if (is_v6)
		/* Unreachable, packet too big, time exceeded, parameter problem. */
		return type >= 1 && type <= 4;
	/* Unreachable (fragmentation needed is one), time exceeded, parameter problem. */
	return type == 3 || type == 11 || type == 12;
}

/* Parses the header after all IP headers; `left` bytes of it are in an untruncated frame. */
LB_INLINE enum lb_parse lb_parse_behind(const __u8 *data, const __u8 *end, __u32 left,
					__u32 protocols, struct lb_packet *packet)
{
	__u16 fragment = LB_FORGET(packet->fragment);
	int is_icmp = protocols & LB_TAKE_ICMP_ERRORS &&
		      packet->protocol == (packet->is_v6 ? LB_IP_ICMPV6 : LB_IP_ICMP);
	const __u8 *at;

	if (!is_icmp && !lb_takes(protocols, packet->protocol))
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_PROTOCOL);
	/* No error is fragmented: it quotes no more than fits (RFC 1812, section 4.3.2.3; RFC 4443, 2.4). */
	if (is_icmp && fragment)
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_FRAGMENT);
	if (fragment & LB_FRAGMENT_OFFSET)
		return LB_PARSE_LATER;
	if (left < 8)
		return is_icmp ? lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_PROTOCOL)
			       : lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_TRANSPORT);
	at = lb_bytes(data, end, LB_FORGET(packet->udp), 8);
	if (!at)
		return lb_refuse(packet, LB_PARSE_SHORT, LB_REASON_TRANSPORT);
	if (!is_icmp)
		return lb_parse_transport(at, end, left, packet);
	if (!lb_is_icmp_error(at[0], packet->is_v6))
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_PROTOCOL);
	packet->payload = left - 8;
	return LB_PARSE_ERROR;
}

/* Reads IPv4 options from packet->udp to `rest`. 0 when hosts refuse the packet: an option of length 0, or
 * a source route (131, 137). Also 0 for more options than the limit. */
LB_INLINE int lb_takes_options(const __u8 *data, const __u8 *end, __u32 rest,
			       struct lb_packet *packet)
{
	for (int i = 0; i < LB_OPTIONS_MAX; i++) {
		__u32 offset = LB_FORGET(packet->udp);
		const __u8 *at = lb_bytes(data, end, offset, 2);

		/* Type 0 ends the list; the last byte cannot matter otherwise. */
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

/* The fields of a plain IPv4 header. */
LB_INLINE void lb_take_v4(const __u8 *at, struct lb_packet *packet)
{
	packet->is_v6 = 0;
	packet->traffic_class = at[1];
	packet->bytes = lb_be16(at + 2);
	packet->ttl = at[8];
	packet->protocol = at[9];
	packet->ip_check_be = LB_LOAD(__u16, at + 10);
	packet->flow.source = lb_addr_v4(lb_be32(at + 12));
	packet->flow.destination = lb_addr_v4(lb_be32(at + 16));
}

/* The fields of an IPv6 header. */
LB_INLINE void lb_take_v6(const __u8 *at, struct lb_packet *packet)
{
	__u32 payload = lb_be16(at + 4);

	packet->is_v6 = 1;
	packet->traffic_class = (__u8)(lb_be16(at) >> 4);
	packet->bytes = payload < 0xffff - 40 ? (__u16)(payload + 40) : 0xffff;
	packet->ttl = at[7];
	packet->protocol = at[6];
	packet->flow.source = lb_addr_v6(at + 8);
	packet->flow.destination = lb_addr_v6(at + 24);
}

LB_INLINE enum lb_parse lb_parse_v4(const __u8 *data, const __u8 *end, __u32 available,
				    __u32 protocols, struct lb_packet *packet)
{
	const __u8 *at = lb_bytes(data, end, packet->ip, 20);
	__u32 header, total;
	__u64 sum;

	if (!at)
		return lb_refuse(packet, LB_PARSE_SHORT, LB_REASON_NOT_IP);
	if ((at[0] & 0xf0) != 0x40)
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_NOT_IP);
	lb_take_v4(at, packet);
	if (!(protocols & LB_TAKE_ICMP_ERRORS && packet->protocol == LB_IP_ICMP) &&
	    !lb_takes(protocols, packet->protocol))
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_PROTOCOL);
	header = (at[0] & 0x0f) * 4u;
	total = packet->bytes;
	if (header < 20)
		return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_HEADER_SHORT);
	if (total < header || total > available)
		return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_LENGTH);
	packet->fragment_id = lb_be16(at + 4);
	packet->fragment = lb_be16(at + 6) & (LB_FRAGMENT_OFFSET | LB_FRAGMENT_MORE);
	sum = lb_sum_v4(at);
	if (header > 20) {
		if (!lb_bytes(data, end, LB_FORGET(packet->ip) + header, 0))
			return lb_refuse(packet, LB_PARSE_SHORT, LB_REASON_HEADER_LONG);
		if (!lb_parse_options(data, end, header, &sum, packet))
			return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_HEADER_LONG);
	}
	if (lb_fold(sum) != 0xffff)
		return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_IP_CHECKSUM);
	packet->udp = (__u16)(packet->ip + header);
	return lb_parse_behind(data, end, total - header, protocols, packet);
}

/* The bytes of an extension header (RFC 8200, section 4), or 0 for another header. */
LB_INLINE __u32 lb_extension_bytes(const __u8 *at, __u8 protocol)
{
	switch (protocol) {
	case LB_IP_FRAGMENT:
		return 8;
	case 43: /* routing; with segments left it has a later destination */
		return at[3] ? 0 : (at[1] + 1u) * 8;
	case 0:	 /* hop-by-hop options */
	case 60: /* destination options */
		return (at[1] + 1u) * 8;
	}
	return 0;
}

LB_INLINE enum lb_parse lb_parse_v6(const __u8 *data, const __u8 *end, __u32 available,
				    __u32 protocols, struct lb_packet *packet)
{
	const __u8 *at = lb_bytes(data, end, packet->ip, 40);
	__u32 left, bytes;

	if (!at)
		return lb_refuse(packet, LB_PARSE_SHORT, LB_REASON_NOT_IP);
	if ((at[0] & 0xf0) != 0x60)
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_NOT_IP);
	lb_take_v6(at, packet);
	left = lb_be16(at + 4);
	packet->udp = (__u16)(packet->ip + 40);
	if (left + 40 > available)
		return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_LENGTH);
	for (int i = 0; i < LB_EXTENSIONS_MAX; i++) {
		if ((protocols & LB_TAKE_ICMP_ERRORS && packet->protocol == LB_IP_ICMPV6) ||
		    lb_takes(protocols, packet->protocol))
			break;
		at = lb_bytes(data, end, LB_FORGET(packet->udp), 8);
		if (!at)
			return lb_refuse(packet, LB_PARSE_SHORT, LB_REASON_PROTOCOL);
		bytes = lb_extension_bytes(at, packet->protocol);
		if (!bytes)
			return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_PROTOCOL);
		if (bytes > left)
			return lb_refuse(packet, LB_PARSE_MALFORMED, LB_REASON_LENGTH);
		if (packet->protocol == LB_IP_FRAGMENT) {
			packet->fragment = lb_be16(at + 2) >> 3 | (lb_be16(at + 2) & 1) << 13;
			packet->fragment_id = lb_be32(at + 4);
		}
		left -= bytes;
		packet->udp += (__u16)bytes;
		packet->protocol = at[0];
		/* After the fragment header of a later fragment comes data. */
		if (LB_FORGET(packet->fragment) & LB_FRAGMENT_OFFSET)
			break;
	}
	if (LB_FORGET(packet->udp) > LB_HEADERS_MAX)
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_HEADER_LONG);
	return lb_parse_behind(data, end, left, protocols, packet);
}

/*
 * Parses an Ethernet frame.
 *
 * @data, @end  the bytes at hand
 * @length      bytes of the whole frame, of which some may not be at hand
 * @protocols   enum lb_protocols: the protocols to accept
 * @packet      filled in as far as the result says
 */
LB_INLINE enum lb_parse lb_parse_frame(const __u8 *data, const __u8 *end, __u32 length,
				       __u32 protocols, struct lb_packet *packet)
{
	const __u8 *at = data + 12;
	__u16 type, offset = 14;

	__builtin_memset(packet, 0, sizeof(*packet));
	if (data + 14 > end)
		return LB_PARSE_SHORT;
	type = lb_be16(at);
	/* Packets in a VLAN are for the VLAN's own interface. Two priority tags at most; a NIC or the kernel may
	 * have removed the outer one before. */
	for (int i = 0; i < 2; i++) {
		if (type != LB_ETHERTYPE_VLAN && type != LB_ETHERTYPE_QINQ)
			break;
		at += 4;
		if (at + 2 > end)
			return lb_refuse(packet, LB_PARSE_SHORT, LB_REASON_NOT_IP);
		if (lb_be16(at - 2) & LB_VLAN_ID)
			return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_VLAN);
		type = lb_be16(at);
		offset += 4;
	}
	packet->tags = (__u8)((offset - 14) / 4);
	packet->ip = offset;
	if (length < offset)
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_NOT_IP);
	if (type == LB_ETHERTYPE_IPV4)
		return lb_parse_v4(data, end, length - offset, protocols, packet);
	if (type == LB_ETHERTYPE_IPV6)
		return lb_parse_v6(data, end, length - offset, protocols, packet);
	return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_NOT_IP);
}

/* lb_parse_frame for UDP only, and only for packets that the kernel's stack would deliver. Packets that the
 * stack would drop are LB_PARSE_OTHER, so that it drops and counts them itself (nstat). */
LB_INLINE enum lb_parse lb_parse_datagram(const __u8 *data, const __u8 *end, __u32 length,
					  struct lb_packet *packet)
{
	enum lb_parse kind = lb_parse_frame(data, end, length, LB_TAKE_UDP, packet);
	const struct lb_flow *flow = &packet->flow;

	if (kind == LB_PARSE_MALFORMED)
		return LB_PARSE_OTHER;
	if (kind < LB_PARSE_DATAGRAM)
		return kind;
	if (packet->is_v6 ? lb_is_martian_v6(flow->source) || lb_is_martian_v6(flow->destination)
			  : lb_is_martian_v4((__u32)flow->source.low) ||
				    lb_is_martian_v4((__u32)flow->destination.low))
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_NOT_FOR_HOSTS);
	if (kind != LB_PARSE_LATER && !flow->destination_port)
		return lb_refuse(packet, LB_PARSE_OTHER, LB_REASON_NOT_FOR_HOSTS);
	return kind;
}

_Static_assert(sizeof(struct lb_packet) == 72, "lb_packet has no hidden padding");

#endif
