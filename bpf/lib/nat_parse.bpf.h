/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_parse.bpf.h: from a frame to what is translated of it. Other than lb/packet.h it takes TCP and ICMP
 * errors, and says why a packet is none, since a NAT drops malformed packets rather than pass them on.
 *
 * Nearly every packet is a whole datagram behind a plain header: parse_plain takes those in a few dozen
 * instructions, with every offset a constant. lb_nat_parse takes the rest.
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

enum nat_parse {
	NAT_NOT_PLAIN, /* of parse_plain alone */
	NAT_OTHER,     /* goes on untouched; `event` says why */
	NAT_MALFORMED, /* is dropped if it is for a service or from a server; `event` says why */
	NAT_WHOLE,     /* a whole datagram, or segment of TCP */
	NAT_FIRST,     /* the first fragment of one */
	NAT_LATER,     /* a later fragment: without ports */
	NAT_ERROR,     /* an ICMP error: its own header is at `at.udp` */
};

struct nat_packet {
	struct lb_packet at; /* `udp` is where TCP and ICMP begin, too */
	__u32 event;	     /* enum lb_nat_event, if it is not translated */
	__u16 bytes;	     /* of the IP packet; of a longer one of IPv6, 65535 */
	__u8 protocol;
	__u8 in_stack; /* it is in the network stack, nat_partial.bpf.h */
};

/* lb_bytes, to be written to. The mask changes nothing, since headers reach no further; the verifier does
 * not see the comparison when the compiler makes it of a copy. */
static __always_inline __u8 *header_at(struct xdp_md *ctx, __u32 offset, __u32 bytes)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return (__u8 *)lb_bytes(data, end, offset & 0xff, bytes);
}

_Static_assert(LB_HEADERS_MAX <= 0xff, "header_at masks offsets");

static __always_inline int nat_fails(struct nat_packet *packet, enum nat_parse kind,
				     enum lb_nat_event event)
{
	packet->event = event;
	return kind;
}

/* The header of UDP or TCP at `at`, `left` bytes of packet from there on. */
static __always_inline int parse_transport(const __u8 *at, const __u8 *end, __u32 left,
					   struct nat_packet *packet)
{
	__u32 length = 8;

	if (left < 8 || at + 8 > end)
		return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_UDP_SIZE);
	if (packet->protocol == LB_IP_UDP) {
		length = lb_be16(at + 4);
		/* The stack takes a datagram that is shorter than its packet, never one that is longer. */
		if (length < 8 || (!packet->at.fragment && length > left))
			return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_UDP_SIZE);
		/* No checksum is for IPv4 alone (RFC 8200, section 8.1). */
		if (packet->at.is_v6 && !LB_LOAD(__u16, at + 6))
			return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_UDP_CHECKSUM);
		packet->at.payload = length - 8;
	} else {
		if (left < 20 || at + 20 > end)
			return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_UDP_SIZE);
		length = (at[12] >> 4) * 4u;
		if (length < 20 || length > left)
			return nat_fails(packet, NAT_MALFORMED, LB_NAT_INVALID_UDP_SIZE);
		packet->at.payload = left - length;
	}
	packet->at.flow.source_port = lb_be16(at);
	packet->at.flow.destination_port = lb_be16(at + 2);
	return packet->at.fragment ? NAT_FIRST : NAT_WHOLE;
}

static __always_inline int is_translated(__u8 protocol)
{
	return protocol == LB_IP_UDP || (lb_nat_tcp && protocol == LB_IP_TCP);
}

static __always_inline void take_v4(const __u8 *at, struct nat_packet *packet)
{
	packet->at.is_v6 = 0;
	packet->at.traffic_class = at[1];
	packet->at.ttl = at[8];
	packet->protocol = at[9];
	packet->at.flow.source = lb_addr_v4(lb_be32(at + 12));
	packet->at.flow.destination = lb_addr_v4(lb_be32(at + 16));
}

static __always_inline void take_v6(const __u8 *at, struct nat_packet *packet)
{
	packet->at.is_v6 = 1;
	packet->at.traffic_class = (__u8)(lb_be16(at) >> 4);
	packet->at.ttl = at[7];
	packet->protocol = at[6];
	packet->at.flow.source = lb_addr_v6(at + 8);
	packet->at.flow.destination = lb_addr_v6(at + 24);
}

static __always_inline __u16 v6_bytes(__u32 payload)
{
	return payload < 0xffff - 40 ? (__u16)(payload + 40) : 0xffff;
}

/* The sum of a plain IPv4 header. */
static __always_inline __u64 sum_v4(const __u8 *at)
{
	__u64 sum = 0;

	for (int i = 0; i < 20; i += 4)
		sum += LB_LOAD(__u32, at + i);
	return sum;
}

/* A whole datagram with no more around it than Ethernet and a plain IP header. */
static __always_inline int parse_plain(const __u8 *data, const __u8 *end, struct nat_packet *packet)
{
	const __u8 *ip = data + 14;
	__u16 type;
	__u32 left;
	int kind;

	if (ip + 28 > end)
		return NAT_NOT_PLAIN;
	type = LB_LOAD(__u16, data + 12);
	packet->at.ip = 14;
	packet->at.tags = 0;
	packet->at.fragment = packet->at.reserved = 0;
	packet->at.fragment_id = 0;
	packet->at.ip_check_be = packet->at.udp_check_be = 0;
	packet->event = packet->in_stack = 0;
	if (type == bpf_htons(LB_ETHERTYPE_IPV4)) {
		if (ip[0] != 0x45 || (LB_LOAD(__u16, ip + 6) & bpf_htons(0x3fff)))
			return NAT_NOT_PLAIN;
		left = lb_be16(ip + 2);
		if (left < 20 || left > (__u64)(end - ip) || lb_fold(sum_v4(ip)) != 0xffff)
			return NAT_NOT_PLAIN;
		packet->bytes = (__u16)left;
		take_v4(ip, packet);
		packet->at.udp = 34;
		if (!is_translated(packet->protocol))
			return NAT_NOT_PLAIN;
		kind = parse_transport(ip + 20, end, left - 20, packet);
	} else if (type == bpf_htons(LB_ETHERTYPE_IPV6)) {
		if (ip + 48 > end || (ip[0] & 0xf0) != 0x60)
			return NAT_NOT_PLAIN;
		left = lb_be16(ip + 4);
		if (left > (__u64)(end - ip) - 40)
			return NAT_NOT_PLAIN;
		packet->bytes = v6_bytes(left);
		take_v6(ip, packet);
		packet->at.udp = 54;
		if (!is_translated(packet->protocol))
			return NAT_NOT_PLAIN;
		kind = parse_transport(ip + 40, end, left, packet);
	} else {
		return NAT_NOT_PLAIN;
	}
	return kind;
}

#endif
