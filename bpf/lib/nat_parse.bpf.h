/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_parse.bpf.h: the packets that xdp_nat accepts from the parser lb/packet.h: UDP, TCP when it is
 * served, and ICMP errors. A NAT drops malformed packets rather than pass them on, so it counts the reason.
 *
 * Nearly every packet is a whole datagram after a plain header: parse_plain handles those in a few dozen
 * instructions, with constant offsets. lb_nat_parse handles the rest.
 */
#ifndef LB_NAT_PARSE_BPF_H
#define LB_NAT_PARSE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/checksum.h>
#include <lb/nat.h>
#include <lb/nat_row.h>
#include <lb/packet.h>

/* Whether TCP is translated too; the loader sets it. */
const volatile __u8 lb_nat_tcp = 0;

/* lb_bytes, for writing. The mask changes nothing, since headers end before it; the verifier does not see
 * the comparison when the compiler makes it on a copy. */
static __always_inline __u8 *header_at(struct xdp_md *ctx, __u32 offset, __u32 bytes)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return (__u8 *)lb_bytes(data, end, offset & 0xff, bytes);
}

_Static_assert(LB_HEADERS_MAX <= 0xff, "header_at masks offsets");

static __always_inline int is_translated(__u8 protocol)
{
	return protocol == LB_IP_UDP || (lb_nat_tcp && protocol == LB_IP_TCP);
}

/* The event of a packet that is LB_PARSE_OTHER, LB_PARSE_MALFORMED or LB_PARSE_SHORT. */
static __always_inline enum lb_nat_event event_of(const struct lb_packet *packet)
{
	switch (packet->reason) {
	case LB_REASON_NOT_IP:
		return LB_NAT_NOT_IP;
	case LB_REASON_PROTOCOL:
		return LB_NAT_NOT_UDP;
	case LB_REASON_FRAGMENT:
		return LB_NAT_FRAGMENTED_IP_PACKET;
	case LB_REASON_HEADER_LONG:
		return LB_NAT_TOO_BIG_IP_HEADER;
	case LB_REASON_HEADER_SHORT:
		return LB_NAT_TOO_SMALL_IP_HEADER;
	case LB_REASON_LENGTH:
		return LB_NAT_INVALID_IP_SIZE;
	case LB_REASON_IP_CHECKSUM:
		return LB_NAT_INVALID_IP_CHECKSUM;
	case LB_REASON_TRANSPORT:
		return LB_NAT_INVALID_UDP_SIZE;
	case LB_REASON_UDP_CHECKSUM:
		return LB_NAT_INVALID_UDP_CHECKSUM;
	}
	return LB_NAT_UNHANDLED_TRAFFIC;
}

/* Reads a whole datagram after only Ethernet and a plain IP header; 0: it is none. */
static __always_inline int parse_plain(const __u8 *data, const __u8 *end, struct lb_packet *packet)
{
	const __u8 *ip = data + 14;
	__u32 header = 20, left;
	__u16 type;

	if (ip + 28 > end)
		return 0;
	type = LB_LOAD(__u16, data + 12);
	__builtin_memset(packet, 0, sizeof(*packet));
	packet->ip = 14;
	if (type == bpf_htons(LB_ETHERTYPE_IPV4)) {
		if (ip[0] != 0x45 || (LB_LOAD(__u16, ip + 6) & bpf_htons(0x3fff)))
			return 0;
		lb_take_v4(ip, packet);
		left = packet->bytes;
		if (left < 20 || left > (__u64)(end - ip) || lb_fold(lb_sum_v4(ip)) != 0xffff)
			return 0;
		left -= 20;
	} else if (type == bpf_htons(LB_ETHERTYPE_IPV6)) {
		if (ip + 48 > end || (ip[0] & 0xf0) != 0x60)
			return 0;
		lb_take_v6(ip, packet);
		left = lb_be16(ip + 4);
		if (left > (__u64)(end - ip) - 40)
			return 0;
		header = 40;
	} else {
		return 0;
	}
	packet->udp = (__u16)(14 + header);
	return is_translated(packet->protocol) &&
	       lb_parse_transport(ip + header, end, left, packet) == LB_PARSE_DATAGRAM;
}

/*
 * Parses any frame; an enum lb_parse, never LB_PARSE_SHORT.
 *
 * A global function is verified on its own (Linux 5.6; with such a pointer, 5.12). Otherwise the verifier
 * would walk the rest of the program for each path through the headers, and give up.
 */
__noinline int lb_nat_parse(struct xdp_md *ctx, struct lb_packet *packet)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 protocols = LB_TAKE_UDP | LB_TAKE_ICMP_ERRORS | (lb_nat_tcp ? LB_TAKE_TCP : 0);
	enum lb_parse kind;

	if (!packet)
		return LB_PARSE_OTHER;
	kind = lb_parse_frame(data, end, (__u32)bpf_xdp_get_buff_len(ctx), protocols, packet);
	if (kind == LB_PARSE_SHORT)
		return packet->reason == LB_REASON_TRANSPORT ? LB_PARSE_MALFORMED : LB_PARSE_OTHER;
	return kind;
}

#endif
