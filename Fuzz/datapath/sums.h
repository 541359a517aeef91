/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h: Internet checksums as RFC 1071 defines them, byte by byte: nothing here is of bpf/include, which is
 * what they judge.
 */
#ifndef FUZZ_SUMS_H
#define FUZZ_SUMS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the run with what was expected; the fuzzer keeps the input. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static inline uint32_t word_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

/* The sum of words in network order, an odd byte with a zero behind it. */
static inline uint32_t sum_of(const uint8_t *at, size_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2)
		sum += word_at(at + i);
	if (bytes % 2)
		sum += (uint32_t)at[bytes - 1] << 8;
	return (uint32_t)(sum % 0xffff);
}

/* What is left of a datagram's sum, its checksum included: 0 when the checksum is right. `ip` and `udp` are
 * where the headers are, `bytes` what the UDP header says. */
static inline uint32_t residue_of_udp(const uint8_t *ip, const uint8_t *udp, size_t bytes)
{
	int is_v6 = ip[0] >> 4 == 6;
	uint32_t addresses = is_v6 ? sum_of(ip + 8, 32) : sum_of(ip + 12, 8);

	return (uint32_t)((addresses + 17 + bytes + sum_of(udp, bytes)) % 0xffff);
}

#endif
