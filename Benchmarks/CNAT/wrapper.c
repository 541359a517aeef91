/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.c: programs that are written by hand, instruction by instruction. */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

/* The codes of frequent instructions; r2 is the packet, r6 the context. */
enum {
	MOVE = BPF_ALU64 | BPF_MOV | BPF_X,
	MOVE_NUMBER = BPF_ALU64 | BPF_MOV | BPF_K,
	LOAD = BPF_LDX | BPF_MEM,
	STORE = BPF_STX | BPF_MEM,
};

struct writer {
	struct bpf_insn code[128];
	int count;
};

static void put(struct writer *writer, struct bpf_insn instruction)
{
	writer->code[writer->count++] = instruction;
}

static void put_constant(struct writer *writer, uint8_t reg, uint8_t kind, uint64_t value)
{
	put(writer, (struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,
				      .dst_reg = reg,
				      .src_reg = kind,
				      .imm = (int32_t)value});
	put(writer, (struct bpf_insn){.imm = (int32_t)(value >> 32)});
}

/* Only programs for the same hook that all accept packets in several buffers may call each other. */
static int load(const struct bpf_insn *code, size_t count)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_XDP,
		    .prog_flags = BPF_F_XDP_HAS_FRAGS);

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "lb_bench", "Dual BSD/GPL", code, count, &options);
}

int nat_nothing(void)
{
	static const struct bpf_insn code[] = {
		{.code = MOVE_NUMBER, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return load(code, sizeof(code) / sizeof(*code));
}

int nat_array(int program)
{
	uint32_t zero = 0;
	int map = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "lb_bench", sizeof(uint32_t),
				 sizeof(uint32_t), 1, NULL);
	int error = map < 0 ? map : bpf_map_update_elem(map, &zero, &program, BPF_ANY);

	if (error >= 0)
		return map;
	if (map >= 0)
		close(map);
	return error;
}

/* Sets r2 to the packet, which must have `bytes`; a shorter one is XDP_ABORTED. */
static void open_packet(struct writer *writer, int bytes)
{
	put(writer, (struct bpf_insn){.code = MOVE, .dst_reg = 6, .src_reg = 1});
	put(writer, (struct bpf_insn){.code = LOAD | BPF_W,
				      .dst_reg = 2,
				      .src_reg = 6,
				      .off = offsetof(struct xdp_md, data)});
	put(writer, (struct bpf_insn){.code = LOAD | BPF_W,
				      .dst_reg = 3,
				      .src_reg = 6,
				      .off = offsetof(struct xdp_md, data_end)});
	put(writer, (struct bpf_insn){.code = MOVE, .dst_reg = 4, .src_reg = 2});
	put(writer,
	    (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 4, .imm = bytes});
	put(writer,
	    (struct bpf_insn){
		    .code = BPF_JMP | BPF_JLE | BPF_X, .dst_reg = 4, .src_reg = 3, .off = 2});
	put(writer, (struct bpf_insn){.code = MOVE_NUMBER, .dst_reg = 0, .imm = XDP_ABORTED});
	put(writer, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
}

/* Increments the array's number and loads it into r8: the client's number. */
static void next_client(struct writer *writer, int counter, const struct nat_case *way)
{
	put_constant(writer, 7, BPF_PSEUDO_MAP_VALUE, (uint32_t)counter);
	put(writer, (struct bpf_insn){.code = LOAD | BPF_DW, .dst_reg = 8, .src_reg = 7});
	put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 8, .imm = 1});
	put(writer, (struct bpf_insn){.code = STORE | BPF_DW, .dst_reg = 7, .src_reg = 8});
	if (!way->is_new)
		put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K,
					      .dst_reg = 8,
					      .imm = way->clients - 1});
}

/* Where the client's number goes in a frame: 16 bits each. The identification shrinks as the address grows,
 * so the IPv4 header checksum stays valid. */
struct patch {
	int offset, shift, is_inverted;
};

static int find_patches(const struct nat_case *way, struct patch *patches)
{
	int count = 0, transport = way->is_v6 ? 54 : 34;
	int address = way->is_v6 ? (way->is_egress ? 52 : 36) : (way->is_egress ? 32 : 28);

	if (!way->is_new && way->clients <= 1)
		return 0;
	patches[count++] = (struct patch){.offset = address};
	if (!way->is_v6)
		patches[count++] = (struct patch){.offset = 18, .is_inverted = 1};
	if (way->is_new || way->clients > 0x10000)
		patches[count++] =
			(struct patch){.offset = transport + (way->is_egress ? 2 : 0), .shift = 16};
	return count;
}

/* Sets r5 to a word of the frame with the client's number in it. Stores are whole words, as after a device's
 * DMA. */
static void put_word(struct writer *writer, uint64_t word, int offset, const struct patch *patches,
		     int count)
{
	for (int i = 0; i < count; i++) {
		if (patches[i].offset / 8 == offset / 8)
			word &= ~(0xffffULL << patches[i].offset % 8 * 8);
	}
	put_constant(writer, 5, 0, word);
	for (int i = 0; i < count; i++) {
		if (patches[i].offset / 8 != offset / 8)
			continue;
		put(writer, (struct bpf_insn){.code = MOVE, .dst_reg = 1, .src_reg = 8});
		if (patches[i].is_inverted)
			put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_XOR | BPF_K,
						      .dst_reg = 1,
						      .imm = -1});
		put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_RSH | BPF_K,
					      .dst_reg = 1,
					      .imm = patches[i].shift});
		put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K,
					      .dst_reg = 1,
					      .imm = 0xffff});
		put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_LSH | BPF_K,
					      .dst_reg = 1,
					      .imm = patches[i].offset % 8 * 8});
		put(writer, (struct bpf_insn){.code = BPF_ALU64 | BPF_OR | BPF_X,
					      .dst_reg = 5,
					      .src_reg = 1});
	}
}

static void tail_call(struct writer *writer, int array)
{
	put(writer, (struct bpf_insn){.code = MOVE, .dst_reg = 1, .src_reg = 6});
	put_constant(writer, 2, BPF_PSEUDO_MAP_FD, (uint32_t)array);
	put(writer, (struct bpf_insn){.code = MOVE_NUMBER, .dst_reg = 3});
	put(writer, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call});
	put(writer, (struct bpf_insn){.code = MOVE_NUMBER, .dst_reg = 0, .imm = XDP_ABORTED});
	put(writer, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
}

int nat_wrapper(const uint8_t *frame, int headers, int array, const struct nat_case *way)
{
	struct writer writer = {.count = 0};
	struct patch patches[3];
	int patched = find_patches(way, patches);
	int counter = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lb_bench", sizeof(uint32_t),
				     sizeof(uint64_t), 1, NULL);
	int program;

	if (counter < 0)
		return counter;
	open_packet(&writer, headers);
	if (patched)
		next_client(&writer, counter, way);
	for (int i = 0; i < headers; i += 8) {
		uint64_t word;

		memcpy(&word, frame + i, sizeof(word));
		put_word(&writer, word, i, patches, patched);
		put(&writer,
		    (struct bpf_insn){
			    .code = STORE | BPF_DW, .dst_reg = 2, .src_reg = 5, .off = (int16_t)i});
	}
	tail_call(&writer, array);
	program = load(writer.code, (size_t)writer.count);
	/* The program keeps the map. */
	close(counter);
	return program;
}
