/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.c: flow keys, slots and checksum steps, each held against another way to the same: the hash against
 * its inverse, a slot against a division, a checksum's step against summing up again.
 */
#include <lb/checksum.h>
#include <lb/flow_key.h>
#include <lb/nat.h>
#include <lb/slot_table.h>
#include <string.h>

#include "sums.h"

struct words {
	uint64_t seed;
	struct lb_flow flow;
	uint32_t key, slots;
	uint8_t bytes[32]; /* that a checksum is of */
	uint8_t change[8];
	uint8_t place, is_v6;
};

/* The inverse of an odd number modulo 2^64, by Newton's method. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t guess = odd;

	for (int i = 0; i < 6; i++)
		guess *= 2 - odd * guess;
	return guess;
}

static uint64_t unmix(uint64_t mixed)
{
	mixed ^= mixed >> 33;
	mixed *= inverse(0xc4ceb9fe1a85ec53ULL);
	mixed ^= mixed >> 33;
	mixed *= inverse(0xff51afd7ed558ccdULL);
	return mixed ^ mixed >> 33;
}

static void check_keys(const struct words *words)
{
	const struct lb_flow *flow = &words->flow;
	uint64_t source = lb_hash_addr(words->seed, flow->source);
	uint64_t both = lb_hash_addr(source, flow->destination);
	uint64_t ports = (uint64_t)flow->source_port << 16 | flow->destination_port;
	uint32_t slots = words->slots ? words->slots : 1;
	struct lb_preference preference = lb_preference_of(flow->source, flow->source_port);

	EXPECT(unmix(lb_mix64(words->seed)) == words->seed);
	EXPECT((unmix(unmix(source) ^ flow->source.low) ^ flow->source.high) == words->seed);
	EXPECT(lb_key_source_ip(words->seed, flow->source) == source >> 32);
	EXPECT(lb_key_four_tuple(words->seed, flow) == lb_mix64(both ^ ports) >> 32);
	EXPECT(lb_slot(words->key, slots) == words->key % slots);
	for (int i = 0; i < 4; i++)
		EXPECT(lb_preference_next(&preference, slots) < slots);
}

static void check_clients(const struct words *words)
{
	const struct lb_flow *flow = &words->flow;
	int is_v6 = words->is_v6 & 1;
	uint8_t protocol = (uint8_t)(words->key >> 8), listener = (uint8_t)words->key;
	struct lb_addr address = is_v6 ? flow->source : lb_addr_v4((uint32_t)flow->source.low);
	struct lb_nat_client client =
		lb_nat_client_of(address, flow->source_port, protocol, listener, is_v6);
	struct lb_addr read = lb_nat_client_address(&client, is_v6);
	uint32_t rest = lb_nat_client_rest(&client, is_v6);

	EXPECT(read.high == address.high && read.low == address.low);
	EXPECT((rest & 0xffff) == flow->source_port && (rest >> 16 & 0xff) == protocol &&
	       rest >> 24 == listener);
	EXPECT(lb_nat_place(address, flow->source_port, protocol, 1u << (words->key % 21)) <
	       1u << (words->key % 21));
}

/* A checksum that is right stays right when words beneath it change, and nothing else makes it so. */
static void check_steps(struct words *words)
{
	uint8_t *at = words->bytes + (words->place % 6) * 4;
	int is_long = words->is_v6 & 1;
	uint16_t check, updated;
	uint64_t from = 0, to = 0, steps;
	size_t bytes = is_long ? 8 : 4;

	check = (uint16_t)~sum_of(words->bytes, sizeof(words->bytes));
	memcpy(&from, at, bytes);
	memcpy(&to, words->change, bytes);
	memcpy(at, words->change, bytes);
	steps = is_long ? lb_csum_step64(from, to) : lb_csum_step((uint32_t)from, (uint32_t)to);
	updated = lb_csum_update(LB_SWAP16(check), steps);
	EXPECT((LB_SWAP16(updated) + sum_of(words->bytes, sizeof(words->bytes))) % 0xffff == 0);
	updated = lb_csum_update_udp(LB_SWAP16(check), steps);
	EXPECT(updated &&
	       (LB_SWAP16(updated) + sum_of(words->bytes, sizeof(words->bytes))) % 0xffff == 0);
	EXPECT(!lb_csum_update_udp(0, steps));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct words words;

	if (size < sizeof(words))
		return 0;
	memcpy(&words, data, sizeof(words));
	check_keys(&words);
	check_clients(&words);
	check_steps(&words);
	return 0;
}
