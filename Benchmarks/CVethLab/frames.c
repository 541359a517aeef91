/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c: a program that generates UDP frames, and one that counts arrivals. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "frames.h"
#include "instructions.h"

enum {
	WORDS = 11, /* of 32 bits, which hold all headers */
	IDENTIFICATION = 18,
	SOURCE_HIGH = 26,
	SOURCE_LOW = 28,
	SOURCE_PORT = 34,
	PAYLOAD = 42,
	FIRST_IDENTIFICATION = 0x4000,
	FIRST_LOW = 0x0100,
	FIRST_PORT = 40000,
	LOW_BITS = 12, /* bits of a source's number in the low half of its address */
};

/* A sum of words in network order (RFC 1071). */
static uint32_t sum(const uint8_t *at, int bytes)
{
	uint32_t total = 0;

	for (int i = 0; i < bytes; i += 2)
		total += (uint32_t)(at[i] << 8 | at[i + 1]);
	return total;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static uint16_t complement(uint32_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint16_t)~total;
}

/* In other sources' frames the identification decreases as the address increases, and so do the port (for
 * the low half of the address) and the first two bytes of the payload (for the high half). So both
 * checksums are the same. */
void lab_frame(uint8_t *frame, const struct lab_wire *wire)
{
	uint8_t *ip = frame + 14, *udp = ip + 20;

	memset(frame, 0, LAB_FRAME_BYTES);
	put16(frame, (uint32_t)(wire->mac >> 32));
	put32(frame + 2, (uint32_t)wire->mac);
	put32(frame + 8, 0x00080002); /* from 02:..:08:00:02 */
	frame[6] = 2;
	put16(frame + 12, ETH_P_IP);
	ip[0] = 0x45;
	put16(ip + 2, LAB_FRAME_BYTES - 14);
	put16(frame + IDENTIFICATION, FIRST_IDENTIFICATION);
	put16(ip + 6, 0x4000);
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	put32(ip + 12, LAB_SOURCES | FIRST_LOW);
	put32(ip + 16, wire->address);
	put16(ip + 10, complement(sum(ip, 20)));
	put16(udp, FIRST_PORT);
	put16(udp + 2, wire->port);
	put16(udp + 4, LAB_FRAME_BYTES - 34);
	/* The payload is zeros. */
	put16(udp + 6,
	      complement(sum(ip + 12, 8) + sum(udp, 8) + IPPROTO_UDP + LAB_FRAME_BYTES - 34));
}

static int load_xdp(const struct bpf_insn *code, size_t count)
{
	return bpf_prog_load(BPF_PROG_TYPE_XDP, "lb_wire", "Dual BSD/GPL", code, count, NULL);
}

static int array_of_one(enum bpf_map_type type)
{
	return bpf_map_create(type, "lb_wire", sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
}

/*
 * The frame's memory may have been reused since the program last wrote it, so it writes all headers each
 * time. XDP_REDIRECT rather than XDP_TX, which requires a program at the veth's end too.
 */
int lab_frames_open(struct lab_frames *frames, const struct lab_wire *wire)
{
	int places = array_of_one(BPF_MAP_TYPE_ARRAY);
	/* r6: the low bits of the source's number; r7: the high ones; r4: what is made of them. */
	const struct bpf_insn head[] = {
		OPEN_PACKET(4 * WORDS, 9 + WORDS + 21 + 4),
		MAP(BPF_REG_1, BPF_PSEUDO_MAP_VALUE, places),
		load(BPF_DW, BPF_REG_6, BPF_REG_1, 0),
		add(BPF_REG_6, 1),
		put(BPF_DW, BPF_REG_1, 0, BPF_REG_6),
		compute(BPF_AND, BPF_REG_6, (int)wire->sources - 1),
		copy(BPF_REG_7, BPF_REG_6),
		compute(BPF_RSH, BPF_REG_7, LOW_BITS),
		compute(BPF_AND, BPF_REG_6, (1 << LOW_BITS) - 1),
	};
	const struct bpf_insn tail[] = {
		set(BPF_REG_4, (uint32_t)LAB_SOURCES >> 16),
		compute_by(BPF_ADD, BPF_REG_4, BPF_REG_7),
		to_be16(BPF_REG_4),
		put(BPF_H, BPF_REG_2, SOURCE_HIGH, BPF_REG_4),
		set(BPF_REG_4, 0xffff),
		compute_by(BPF_SUB, BPF_REG_4, BPF_REG_7),
		to_be16(BPF_REG_4),
		put(BPF_H, BPF_REG_2, PAYLOAD, BPF_REG_4),
		set(BPF_REG_4, FIRST_IDENTIFICATION),
		compute_by(BPF_SUB, BPF_REG_4, BPF_REG_6),
		compute_by(BPF_SUB, BPF_REG_4, BPF_REG_7),
		to_be16(BPF_REG_4),
		put(BPF_H, BPF_REG_2, IDENTIFICATION, BPF_REG_4),
		set(BPF_REG_4, FIRST_LOW),
		compute_by(BPF_ADD, BPF_REG_4, BPF_REG_6),
		to_be16(BPF_REG_4),
		put(BPF_H, BPF_REG_2, SOURCE_LOW, BPF_REG_4),
		set(BPF_REG_4, FIRST_PORT),
		compute_by(BPF_SUB, BPF_REG_4, BPF_REG_6),
		to_be16(BPF_REG_4),
		put(BPF_H, BPF_REG_2, SOURCE_PORT, BPF_REG_4),
		set(BPF_REG_1, if_nametoindex(wire->end)),
		set(BPF_REG_2, 0),
		call(BPF_FUNC_redirect),
		leave(),
		set(BPF_REG_0, XDP_DROP),
		leave(),
	};
	struct bpf_insn code[64], *at = code;

	*frames = (struct lab_frames){.program = -1, .count = -1};
	if (places < 0)
		return places;
	lab_frame(frames->bytes, wire);
	at = memcpy(code, head, sizeof(head));
	at += sizeof(head) / sizeof(*head);
	for (int i = 0; i < WORDS; i++) {
		uint32_t word;

		memcpy(&word, frames->bytes + 4 * i, sizeof(word));
		*at++ = put_number(BPF_W, BPF_REG_2, 4 * i, word);
	}
	memcpy(at, tail, sizeof(tail));
	at += sizeof(tail) / sizeof(*tail);
	frames->program = load_xdp(code, (size_t)(at - code));
	frames->count = places;
	return frames->program < 0 ? frames->program : 0;
}

void lab_frames_close(const struct lab_frames *frames)
{
	if (frames->program >= 0)
		close(frames->program);
	if (frames->count >= 0)
		close(frames->count);
}

uint64_t lab_frames_count(const struct lab_frames *frames)
{
	uint64_t count = 0;
	uint32_t zero = 0;

	bpf_map_lookup_elem(frames->count, &zero, &count);
	return count;
}

int lab_frames_send(const struct lab_frames *frames, uint32_t count)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frames->bytes,
		    .data_size_in = LAB_FRAME_BYTES, .repeat = (int)count,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 64);

	int error = bpf_prog_test_run_opts(frames->program, &options);

	return error == -EINTR ? 0 : error;
}

int lab_sink_open(struct lab_sink *sink, const struct lab_wire *wire)
{
	LIBBPF_OPTS(bpf_link_create_opts, native, .flags = XDP_FLAGS_DRV_MODE);
	int count = array_of_one(BPF_MAP_TYPE_PERCPU_ARRAY), program, link;
	const struct bpf_insn code[] = {
		OPEN_PACKET(42, 18),
		load(BPF_H, BPF_REG_3, BPF_REG_2, 12),
		skip(BPF_JNE, BPF_REG_3, htons(ETH_P_IP), 16),
		load(BPF_B, BPF_REG_3, BPF_REG_2, 23),
		skip(BPF_JNE, BPF_REG_3, IPPROTO_UDP, 14),
		load(BPF_H, BPF_REG_3, BPF_REG_2, 36),
		skip(BPF_JNE, BPF_REG_3, htons(wire->port), 12),
		store(-4, 0),
		copy(BPF_REG_2, BPF_REG_10),
		add(BPF_REG_2, -4),
		MAP(BPF_REG_1, BPF_PSEUDO_MAP_FD, count),
		call(BPF_FUNC_map_lookup_elem),
		skip(BPF_JEQ, BPF_REG_0, 0, 5),
		load(BPF_DW, BPF_REG_1, BPF_REG_0, 0),
		add(BPF_REG_1, 1),
		put(BPF_DW, BPF_REG_0, 0, BPF_REG_1),
		set(BPF_REG_0, XDP_DROP),
		leave(),
		set(BPF_REG_0, XDP_PASS),
		leave(),
	};

	if (count < 0)
		return count;
	program = load_xdp(code, sizeof(code) / sizeof(*code));
	link = program < 0
		       ? program
		       : bpf_link_create(program, (int)if_nametoindex(wire->end), BPF_XDP, &native);
	if (program >= 0)
		close(program);
	if (link < 0) {
		close(count);
		return link;
	}
	*sink = (struct lab_sink){.link = link, .count = count};
	return 0;
}

uint64_t lab_sink_count(const struct lab_sink *sink)
{
	uint64_t counts[LAB_CPUS_MAX] = {0}, total = 0;
	uint32_t zero = 0;

	bpf_map_lookup_elem(sink->count, &zero, counts);
	for (int i = 0; i < LAB_CPUS_MAX; i++)
		total += counts[i];
	return total;
}
