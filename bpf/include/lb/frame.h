/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * frame.h: leads a frame in memory to its receiver: link header, destination, TTL, checksums. For
 * AF_XDP, whose packets are plain memory; rewrite.bpf.h does the same to an skb, by helpers.
 */
#ifndef LB_FRAME_H
#define LB_FRAME_H

#include "checksum.h"
#include "packet.h"
#include "tables.h"

/* The addresses of an Ethernet header, in their order there. */
struct lb_link {
	__u8 destination[6];
	__u8 source[6];
};

#define LB_ETHERNET_BYTES 14

/* Writes a field of a header, at any alignment. */
#define LB_STORE(type, at, word)                                                                   \
	(((struct { type value; } __attribute__((packed)) *)(at))->value = (word))

LB_INLINE __u64 lb_lead_v4(__u8 *ip, const struct lb_packet *packet,
			   const struct lb_receiver *receiver)
{
	__u64 step = lb_csum_step_addr(packet->flow.destination, receiver->address, 0);
	/* The first byte of its word. */
	__u64 older = lb_csum_step(LB_SWAP16((__u16)(packet->ttl << 8)),
				   LB_SWAP16((__u16)((packet->ttl - 1) << 8)));

	ip[8] = (__u8)(packet->ttl - 1);
	LB_STORE(__u16, ip + 10, lb_csum_update(packet->ip_check_be, step + older));
	LB_STORE(__u32, ip + 16, LB_SWAP32((__u32)receiver->address.low));
	return step;
}

LB_INLINE __u64 lb_lead_v6(__u8 *ip, const struct lb_packet *packet,
			   const struct lb_receiver *receiver)
{
	ip[7] = (__u8)(packet->ttl - 1);
	LB_STORE(__u64, ip + 24, LB_SWAP64(receiver->address.high));
	LB_STORE(__u64, ip + 32, LB_SWAP64(receiver->address.low));
	return lb_csum_step_addr(packet->flow.destination, receiver->address, 1);
}

/*
 * Leads a whole datagram (LB_PARSE_DATAGRAM), whose TTL is above 1, to a receiver of its own family.
 * Tags go: the way out decides about them.
 *
 * @frame   what was parsed; all headers are at hand
 * @return  where the frame begins now, in bytes from `frame`
 */
LB_INLINE __u32 lb_lead_frame(__u8 *frame, const struct lb_packet *packet,
			      const struct lb_receiver *receiver, const struct lb_link *link)
{
	__u8 *ip = frame + packet->ip, *udp = frame + packet->udp;
	__u64 steps =
		packet->is_v6 ? lb_lead_v6(ip, packet, receiver) : lb_lead_v4(ip, packet, receiver);
	__u32 start = packet->ip - LB_ETHERNET_BYTES;

	steps += lb_csum_step(LB_SWAP16(packet->flow.destination_port), LB_SWAP16(receiver->port));
	LB_STORE(__u16, udp + 2, LB_SWAP16(receiver->port));
	LB_STORE(__u16, udp + 6, lb_csum_update_udp(packet->udp_check_be, steps));
	__builtin_memcpy(frame + start, link, sizeof(*link));
	return start;
}

_Static_assert(sizeof(struct lb_link) == 12, "lb_link is as in the header");

#endif
