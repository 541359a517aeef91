/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h: an input of the fuzzers of frames: HEAD bytes that say what is done with it, and the frame.
 *
 *   0...15   the receiver's address, of which IPv4 takes the last four bytes; its first bit says whether
 *            the NAT takes TCP
 *   16, 17   its port; 0 stands for 1
 *   18       bytes that are at hand, of a frame that is cut; 255: all
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sums.h"

enum {
	HEAD = 19,
	FRAME_MAX = 4096
};

struct input {
	const uint8_t *head;
	uint8_t *frame; /* of its own size, so that a read past the end is seen */
	size_t bytes;
	size_t at_hand;
};

/* 0 when there is no frame in it. */
static inline int open_input(struct input *input, const uint8_t *data, size_t size)
{
	if (size <= HEAD || size > HEAD + FRAME_MAX)
		return 0;
	input->head = data;
	input->bytes = size - HEAD;
	input->at_hand = data[18] == 255 || data[18] > input->bytes ? input->bytes : data[18];
	input->frame = malloc(input->bytes);
	EXPECT(input->frame);
	memcpy(input->frame, data + HEAD, input->bytes);
	return 1;
}

/* The bytes at hand, in memory of their own; to be freed. */
static inline uint8_t *cut(const struct input *input)
{
	uint8_t *part = malloc(input->at_hand ? input->at_hand : 1);

	EXPECT(part);
	memcpy(part, input->frame, input->at_hand);
	return part;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static inline void put_word(uint8_t *at, uint32_t word)
{
	at[0] = (uint8_t)(word >> 8);
	at[1] = (uint8_t)word;
}

/* Makes the checksum of an IPv4 header right, wherever one stands. No mutation would find it. */
static inline void mend(uint8_t *frame, size_t bytes)
{
	size_t ip = 14;
	uint32_t type = bytes < 14 ? 0 : word_at(frame + 12);

	while (ip < 22 && ip + 4 <= bytes && (type == 0x8100 || type == 0x88a8)) {
		type = word_at(frame + ip + 2);
		ip += 4;
	}
	if (type == 0x0800 && ip + 20 <= bytes) {
		size_t header = (frame[ip] & 15u) * 4;

		if (header < 20 || ip + header > bytes)
			return;
		put_word(frame + ip + 10, 0);
		put_word(frame + ip + 10, ~sum_of(frame + ip, header) & 0xffff);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	size = LLVMFuzzerMutate(data, size, max);
	/* The others stay wrong, or right for once. */
	if (seed % 8 && size > HEAD)
		mend(data + HEAD, size - HEAD);
	return size;
}

#endif
