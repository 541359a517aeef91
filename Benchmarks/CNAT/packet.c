/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c: a datagram of 64 bytes. */
#include <string.h>

#include "load.h"

/* 2001:db8:x::y */
static struct lb_addr documentation(uint16_t x, uint16_t y)
{
	return (struct lb_addr){0x20010db800000000ULL | (uint64_t)x << 16, y};
}

struct lb_addr nat_service(int is_v6)
{
	return is_v6 ? documentation(0, 1) : lb_addr_v4(0xc0000201); /* 192.0.2.1 */
}

struct lb_addr nat_server(int is_v6, int number)
{
	return is_v6 ? documentation(1, (uint16_t)(number + 1))
		     : lb_addr_v4(0x0a010001 + (uint32_t)number); /* 10.1.0.1 */
}

/* The last 16 bits are 0; nat_wrapper counts in them. */
struct lb_addr nat_client(int is_v6)
{
	return is_v6 ? (struct lb_addr){0x20010db800070000ULL, 0x700000000ULL}
		     : lb_addr_v4(0xc6120000); /* 198.18.0.0 */
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

int nat_frame(uint8_t frame[NAT_FRAME], const struct nat_case *way)
{
	const struct lb_addr client = nat_client(way->is_v6), server = nat_server(way->is_v6, 0);
	const struct lb_addr from = way->is_egress ? server : client;
	const struct lb_addr to = way->is_egress ? client : nat_service(way->is_v6);
	uint8_t *ip = frame + 14, *udp = ip + (way->is_v6 ? 40 : 20);

	memset(frame, 0, NAT_FRAME);
	put(frame, 0x020000000001, 6);
	put(frame + 6, 0x020000000002, 6);
	put(frame + 12, way->is_v6 ? 0x86dd : 0x0800, 2);
	if (way->is_v6) {
		put(ip, 6u << 28, 4);
		put(ip + 4, 72, 2);
		put(ip + 6, 17 << 8 | 64, 2);
		put(ip + 8, from.high, 8);
		put(ip + 16, from.low, 8);
		put(ip + 24, to.high, 8);
		put(ip + 32, to.low, 8);
	} else {
		put(ip, 0x4500, 2);
		put(ip + 2, 20 + 72, 2);
		/* Identification: the wrapper decrements it when it increments the source. */
		put(ip + 4, 0xffff, 2);
		put(ip + 8, 64 << 8 | 17, 2);
		put(ip + 12, from.low, 4);
		put(ip + 16, to.low, 4);
		put(ip + 10, checksum(ip, 20), 2);
	}
	put(udp, way->is_egress ? NAT_PORT : NAT_CLIENT_PORT, 2);
	put(udp + 2, way->is_egress ? NAT_CLIENT_PORT : NAT_PORT, 2);
	put(udp + 4, 72, 2);
	/* A wrong checksum, but one that must be updated. */
	put(udp + 6, 0x1234, 2);
	return (int)(udp - frame) + 72;
}
