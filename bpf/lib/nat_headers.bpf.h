/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_headers.bpf.h: the packets that parse_plain leaves: tags, options, extension headers, fragments, ICMP
 * errors, malformed packets, and everybody else's.
 */
#ifndef LB_NAT_HEADERS_BPF_H
#define LB_NAT_HEADERS_BPF_H

#include "nat_parse.bpf.h"

/* Types of ICMP errors that quote a packet: RFC 792 and RFC 4443. */
static __always_inline int is_error(__u8 type, int is_v6)
{
	if (is_v6)
		/* Unreachable, packet too big, time exceeded, parameter problem. */
		return type >= 1 && type <= 4;
	/* Unreachable (fragmentation needed is one), time exceeded, parameter problem. */
	return type == 3 || type == 11 || type == 12;
}

/* What stands behind all IP headers, `left` bytes of it. */
static __always_inline int parse_behind(const __u8 *data, const __u8 *end, __u32 left,
					struct nat_packet *packet)
{
	__u16 fragment = LB_FORGET(packet->at.fragment);
	int is_icmp = packet->protocol == (packet->at.is_v6 ? LB_IP_ICMPV6 : LB_IP_ICMP);
	const __u8 *at;

	if (!is_icmp && !is_translated(packet->protocol))
		return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_UDP);
	/* No error is fragmented: it quotes no more than fits (RFC 1812, section 4.3.2.3; RFC 4443, 2.4). */
	if (is_icmp && fragment)
		return nat_fails(packet, NAT_OTHER, LB_NAT_FRAGMENTED_IP_PACKET);
	if (fragment & LB_FRAGMENT_OFFSET)
		return NAT_LATER;
	at = lb_bytes(data, end, LB_FORGET(packet->at.udp), 8);
	if (is_icmp) {
		if (!at || left < 8 || !is_error(at[0], packet->at.is_v6))
			return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_UDP);
		packet->at.payload = left - 8;
		return NAT_ERROR;
	}
	if (!at)
		return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_UDP_SIZE);
	return parse_transport(at, end, left, packet);
}

static __always_inline int parse_v4(const __u8 *data, const __u8 *end, __u32 available,
				    struct nat_packet *packet)
{
	const __u8 *at = lb_bytes(data, end, packet->at.ip, 20);
	__u32 header, total;
	__u64 sum;

	if (!at || (at[0] & 0xf0) != 0x40)
		return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_IP);
	take_v4(at, packet);
	if (packet->protocol != LB_IP_ICMP && !is_translated(packet->protocol))
		return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_UDP);
	header = (at[0] & 0x0f) * 4u;
	total = lb_be16(at + 2);
	if (header < 20)
		return nat_fails(packet, NAT_MALFORMED, LB_NAT_TOO_SMALL_IP_HEADER);
	if (total < header || total > available)
		return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_IP_SIZE);
	packet->bytes = (__u16)total;
	packet->at.fragment_id = lb_be16(at + 4);
	packet->at.fragment = lb_be16(at + 6) & (LB_FRAGMENT_OFFSET | LB_FRAGMENT_MORE);
	sum = sum_v4(at);
	if (header > 20 && !lb_parse_options(data, end, header, &sum, &packet->at))
		return nat_fails(packet, NAT_OTHER, LB_NAT_TOO_BIG_IP_HEADER);
	if (lb_fold(sum) != 0xffff)
		return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_IP_CHECKSUM);
	packet->at.udp = (__u16)(packet->at.ip + header);
	return parse_behind(data, end, total - header, packet);
}

/* The bytes of an extension header, or 0 when it is none that is looked behind. */
static __always_inline __u32 extension(const __u8 *at, __u8 protocol)
{
	/* RFC 8200, section 4: hop-by-hop 0, routing 43, destination options 60. */
	switch (protocol) {
	case LB_IP_FRAGMENT:
		return 8;
	case 43:
		/* With segments left it names a destination yet to come. */
		if (at[3])
			return 0;
		/* fallthrough */
	case 0:
	case 60:
		return (at[1] + 1u) * 8;
	}
	return 0;
}

static __always_inline int parse_v6(const __u8 *data, const __u8 *end, __u32 available,
				    struct nat_packet *packet)
{
	const __u8 *at = lb_bytes(data, end, packet->at.ip, 40);
	__u32 left, bytes;

	if (!at || (at[0] & 0xf0) != 0x60)
		return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_IP);
	take_v6(at, packet);
	left = lb_be16(at + 4);
	packet->bytes = v6_bytes(left);
	packet->at.udp = (__u16)(packet->at.ip + 40);
	if (left + 40 > available)
		return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_IP_SIZE);
	for (int i = 0; i < LB_EXTENSIONS_MAX; i++) {
		if (packet->protocol == LB_IP_ICMPV6 || is_translated(packet->protocol))
			break;
		at = lb_bytes(data, end, LB_FORGET(packet->at.udp), 8);
		bytes = at ? extension(at, packet->protocol) : 0;
		if (!bytes)
			return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_UDP);
		if (packet->protocol == LB_IP_FRAGMENT) {
			packet->at.fragment = lb_be16(at + 2) >> 3 | (lb_be16(at + 2) & 1) << 13;
			packet->at.fragment_id = lb_be32(at + 4);
		}
		if (bytes > left)
			return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_IP_SIZE);
		left -= bytes;
		packet->at.udp += (__u16)bytes;
		packet->protocol = at[0];
		/* What follows the fragment header of a later fragment is data. */
		if (LB_FORGET(packet->at.fragment) & LB_FRAGMENT_OFFSET)
			break;
	}
	if (LB_FORGET(packet->at.udp) > LB_HEADERS_MAX)
		return nat_fails(packet, NAT_OTHER, LB_NAT_TOO_BIG_IP_HEADER);
	return parse_behind(data, end, left, packet);
}

/*
 * Parses any frame; an enum nat_parse, never NAT_NOT_PLAIN.
 *
 * A global function is verified by itself (Linux 5.6; with such a pointer, 5.12). Otherwise the verifier
 * would walk the rest of the program for each way through the headers, and give up.
 */
__noinline int lb_nat_parse(struct xdp_md *ctx, struct nat_packet *packet)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
	const __u8 *at = data + 12;
	__u16 type, offset = 14;

	if (!packet)
		return NAT_OTHER;
	__builtin_memset(packet, 0, sizeof(*packet));
	if (data + 14 > end)
		return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_IP);
	type = lb_be16(at);
	for (int i = 0; i < 2; i++) {
		if (type != LB_ETHERTYPE_VLAN && type != LB_ETHERTYPE_QINQ)
			break;
		at += 4;
		if (at + 2 > end)
			return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_IP);
		if (lb_be16(at - 2) & LB_VLAN_ID)
			return nat_fails(packet, NAT_OTHER, LB_NAT_UNHANDLED_TRAFFIC);
		type = lb_be16(at);
		offset += 4;
	}
	packet->at.tags = (__u8)((offset - 14) / 4);
	packet->at.ip = offset;
	if (length < offset)
		return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_IP);
	if (type == LB_ETHERTYPE_IPV4)
		return parse_v4(data, end, length - offset, packet);
	if (type == LB_ETHERTYPE_IPV6)
		return parse_v6(data, end, length - offset, packet);
	return nat_fails(packet, NAT_OTHER, LB_NAT_NOT_IP);
}

#endif
