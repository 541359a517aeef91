/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c: a datagram of 64 bytes. */
#include <string.h>

#include "packet.h"

/* 2001:db8:x::y */
static struct lb_addr documentation(uint16_t x, uint16_t y)
{
	return (struct lb_addr){0x20010db800000000ULL | (uint64_t)x << 16, y};
}

struct lb_addr forwarding_service(int is_v6)
{
	return is_v6 ? documentation(0, 1) : lb_addr_v4(0xc0000201); /* 192.0.2.1 */
}

struct lb_addr forwarding_receiver(int is_v6, int number)
{
	return is_v6 ? documentation(1, (uint16_t)(number + 1))
		     : lb_addr_v4(0x0a010001 + (uint32_t)number); /* 10.1.0.1 */
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static uint16_t checksum(const uint8_t *at, int bytes)
{
	uint64_t sum = 0;

	for (int i = 0; i < bytes; i += 2)
		sum += (uint64_t)at[i] << 8 | at[i + 1];
	return (uint16_t)~lb_fold(sum);
}

int forwarding_frame(uint8_t frame[FORWARDING_FRAME], int is_v6)
{
	const struct lb_addr to = forwarding_service(is_v6);
	uint8_t *ip = frame + 14, *udp = ip + (is_v6 ? 40 : 20);

	memset(frame, 0, FORWARDING_FRAME);
	put(frame + 12, is_v6 ? 0x86dd : 0x0800, 2);
	if (is_v6) {
		put(ip, 6u << 28, 4);
		put(ip + 4, 72, 2);
		put(ip + 6, 17 << 8 | 64, 2);
		put(ip + 8, 0x20010db800070000ULL, 8);
		put(ip + 16, 7, 8);
		put(ip + 24, to.high, 8);
		put(ip + 32, to.low, 8);
	} else {
		put(ip, 0x4500, 2);
		put(ip + 2, 20 + 72, 2);
		put(ip + 8, 64 << 8 | 17, 2);
		put(ip + 12, 0xc6336407, 4); /* 198.51.100.7 */
		put(ip + 16, to.low, 4);
		put(ip + 10, checksum(ip, 20), 2);
	}
	put(udp, 40000, 2);
	put(udp + 2, FORWARDING_PORT, 2);
	put(udp + 4, 72, 2);
	/* A wrong checksum, but one that must be updated. */
	put(udp + 6, 0x1234, 2);
	return (int)(udp - frame) + 72;
}
