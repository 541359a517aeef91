/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.c: programs that are written by hand, instruction by instruction. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

static int load(const struct bpf_insn *code, size_t count)
{
	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "lb_bench", "Dual BSD/GPL", code, count,
			     NULL);
}

int forwarding_nothing(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_ACT_OK},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return load(code, sizeof(code) / sizeof(*code));
}

int forwarding_array(int program)
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

/* r6: the context; r2: the packet; the rest jumps to the end when it is short. */
static struct bpf_insn *open_packet(struct bpf_insn *at, int bytes, int jump)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1},
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_REG_1,
		 .off = offsetof(struct __sk_buff, data)},
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = BPF_REG_3,
		 .src_reg = BPF_REG_1,
		 .off = offsetof(struct __sk_buff, data_end)},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_4, .src_reg = BPF_REG_2},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_4, .imm = bytes},
		{.code = BPF_JMP | BPF_JGT | BPF_X,
		 .dst_reg = BPF_REG_4,
		 .src_reg = BPF_REG_3,
		 .off = (int16_t)jump},
	};

	memcpy(at, code, sizeof(code));
	return at + sizeof(code) / sizeof(*code);
}

static struct bpf_insn *load_constant(struct bpf_insn *at, uint8_t reg, uint8_t kind,
				      uint64_t value)
{
	*at++ = (struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,
				  .dst_reg = reg,
				  .src_reg = kind,
				  .imm = (int32_t)value};
	*at++ = (struct bpf_insn){.imm = (int32_t)(value >> 32)};
	return at;
}

static struct bpf_insn *tail_call(struct bpf_insn *at, int map)
{
	*at++ = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_6};
	at = load_constant(at, BPF_REG_2, BPF_PSEUDO_MAP_FD, (uint32_t)map);
	*at++ = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3};
	*at++ = (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call};
	*at++ = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1};
	*at++ = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return at;
}

int forwarding_wrapper(const uint8_t *frame, int headers, int array)
{
	int words = headers / 8;
	struct bpf_insn code[96], *at = open_packet(code, words * 8, words * 3 + 5);

	for (int i = 0; i < words; i++) {
		uint64_t word;

		memcpy(&word, frame + 8 * i, sizeof(word));
		at = load_constant(at, BPF_REG_5, 0, word);
		*at++ = (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW,
					  .dst_reg = BPF_REG_2,
					  .src_reg = BPF_REG_5,
					  .off = (int16_t)(8 * i)};
	}
	at = tail_call(at, array);
	return load(code, (size_t)(at - code));
}
