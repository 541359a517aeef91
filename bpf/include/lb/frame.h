/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * frame.h: rewrites a frame in memory for its receiver: link header, destination, TTL, checksums. For
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

LB_INLINE __u64 lb_readdress_v4(__u8 *ip, const struct lb_packet *packet,
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

LB_INLINE __u64 lb_readdress_v6(__u8 *ip, const struct lb_packet *packet,
				const struct lb_receiver *receiver)
{
	ip[7] = (__u8)(packet->ttl - 1);
	LB_STORE(__u64, ip + 24, LB_SWAP64(receiver->address.high));
	LB_STORE(__u64, ip + 32, LB_SWAP64(receiver->address.low));
	return lb_csum_step_addr(packet->flow.destination, receiver->address, 1);
}

/*
 * Rewrites a whole datagram (LB_PARSE_DATAGRAM) with a TTL above 1 for a receiver of the same family.
 * Removes tags: the output interface decides about them.
 *
 * @frame   the parsed frame; all headers are at hand
 * @return  the new start of the frame, in bytes from `frame`
 */
LB_INLINE __u32 lb_readdress_frame(__u8 *frame, const struct lb_packet *packet,
				   const struct lb_receiver *receiver, const struct lb_link *link)
{
	__u8 *ip = frame + packet->ip, *udp = frame + packet->udp;
	__u64 steps = packet->is_v6 ? lb_readdress_v6(ip, packet, receiver)
				    : lb_readdress_v4(ip, packet, receiver);
	__u32 start = packet->ip - LB_ETHERNET_BYTES;

	steps += lb_csum_step(LB_SWAP16(packet->flow.destination_port), LB_SWAP16(receiver->port));
	LB_STORE(__u16, udp + 2, LB_SWAP16(receiver->port));
	LB_STORE(__u16, udp + 6, lb_csum_update_udp(packet->udp_check_be, steps));
	__builtin_memcpy(frame + start, link, sizeof(*link));
	return start;
}

/* The sum of the words of an address, in network byte order. */
LB_INLINE __u64 lb_csum_addr(struct lb_addr address, int is_v6)
{
	__u64 high = LB_SWAP64(address.high), low = LB_SWAP64(address.low);

	if (!is_v6)
		return LB_SWAP32((__u32)address.low);
	return (__u32)high + (high >> 32) + (__u32)low + (low >> 32);
}

/* The sum of the words of some bytes. */
LB_INLINE __u64 lb_csum_bytes(const __u8 *at, __u32 bytes)
{
	__u64 sum = 0;

	for (; bytes >= 4; at += 4, bytes -= 4)
		sum += LB_LOAD(__u32, at);
	if (bytes >= 2) {
		sum += LB_LOAD(__u16, at);
		at += 2;
	}
	return bytes & 1 ? sum + LB_SWAP16((__u16)(*at << 8)) : sum;
}

/*
 * Completes the UDP checksum of a whole datagram if its sender offloaded it. Frames from a veth or a
 * virtual machine may have only the sum of the pseudo header in its place (CHECKSUM_PARTIAL), and a frame
 * in memory has no flag for the next device. A complete checksum that equals that sum is computed again,
 * with the same result.
 *
 * @packet  the parsed packet; gets the checksum, which lb_readdress_frame writes
 */
LB_INLINE void lb_complete_udp(const __u8 *frame, struct lb_packet *packet)
{
	__u32 bytes = packet->payload + 8;
	__u64 sum = lb_csum_addr(packet->flow.source, packet->is_v6) +
		    lb_csum_addr(packet->flow.destination, packet->is_v6) +
		    LB_SWAP16((__u16)LB_IP_UDP) + LB_SWAP16((__u16)bytes);
	__u16 made;

	if (__builtin_expect(lb_fold(sum) != packet->udp_check_be, 1))
		return;
	/* The partial sum is in the checksum field, so it is among these words. */
	made = (__u16)~lb_fold(lb_csum_bytes(frame + packet->udp, bytes));
	packet->udp_check_be = made ? made : 0xffff;
}

_Static_assert(sizeof(struct lb_link) == 12, "lb_link is as in the header");

#endif
