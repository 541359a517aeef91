/* SPDX-License-Identifier: Apache-2.0 */
/* bare.c: the baseline: a program that hashes the source, looks up a table and selects a socket, and no more. */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "programs.h"

enum {
	TABLE_BITS = 14,
	SOURCE = 12 /* of the address, in an IPv4 header */
};

static struct bpf_insn alu(uint8_t operation, uint8_t reg, int value)
{
	return (struct bpf_insn){.code = operation | BPF_K, .dst_reg = reg, .imm = value};
}

static struct bpf_insn set(uint8_t reg, int value)
{
	return alu(BPF_ALU64 | BPF_MOV, reg, value);
}

static struct bpf_insn copy(uint8_t to, uint8_t from)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from};
}

static struct bpf_insn call(int function)
{
	return (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = function};
}

static struct bpf_insn load(uint8_t to, uint8_t from, int16_t at)
{
	return (struct bpf_insn){
		.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = to, .src_reg = from, .off = at};
}

static struct bpf_insn store(int16_t at, uint8_t from)
{
	return (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_W,
				 .dst_reg = BPF_REG_10,
				 .src_reg = from,
				 .off = at};
}

static int load_program(int table, int sockets)
{
	const struct bpf_insn code[] = {
		copy(BPF_REG_6, BPF_REG_1),
		/* bpf_skb_load_bytes_relative(context, SOURCE, stack - 4, 4, BPF_HDR_START_NET) */
		set(BPF_REG_2, SOURCE),
		copy(BPF_REG_3, BPF_REG_10),
		alu(BPF_ALU64 | BPF_ADD, BPF_REG_3, -4),
		set(BPF_REG_4, 4),
		set(BPF_REG_5, BPF_HDR_START_NET),
		call(BPF_FUNC_skb_load_bytes_relative),
		load(BPF_REG_1, BPF_REG_10, -4),
		alu(BPF_ALU | BPF_MUL, BPF_REG_1, (int)0x9e3779b1),
		alu(BPF_ALU | BPF_RSH, BPF_REG_1, 32 - TABLE_BITS),
		/* bpf_map_lookup_elem(table, stack - 8) */
		store(-8, BPF_REG_1),
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = table},
		{0},
		copy(BPF_REG_2, BPF_REG_10),
		alu(BPF_ALU64 | BPF_ADD, BPF_REG_2, -8),
		call(BPF_FUNC_map_lookup_elem),
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 9},
		load(BPF_REG_1, BPF_REG_0, 0),
		/* bpf_sk_select_reuseport(context, sockets, stack - 12, 0) */
		store(-12, BPF_REG_1),
		copy(BPF_REG_1, BPF_REG_6),
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = sockets},
		{0},
		copy(BPF_REG_3, BPF_REG_10),
		alu(BPF_ALU64 | BPF_ADD, BPF_REG_3, -12),
		set(BPF_REG_4, 0),
		call(BPF_FUNC_sk_select_reuseport),
		set(BPF_REG_0, SK_PASS),
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SK_REUSEPORT, "lb_bare", "Dual BSD/GPL", code,
			       sizeof(code) / sizeof(*code), NULL);

	return fd < 0 ? -errno : fd;
}

/* The group's map of UDP sockets: a socket is in one such map at most. */
static int sockets_of_group(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct bpf_map_info info;
		uint32_t bytes = sizeof(info);

		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &bytes) &&
		    info.type == BPF_MAP_TYPE_REUSEPORT_SOCKARRAY &&
		    !strcmp(info.name, "udp_balancing_t"))
			return fd;
	}
	return -ENOENT;
}

int steering_bare_program(void)
{
	int table = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bare_table", 4, 4, 1 << TABLE_BITS, NULL);
	int sockets = sockets_of_group(), result = table < 0 ? -errno : sockets < 0 ? sockets : 0;

	for (uint32_t slot = 0; slot < 1 << TABLE_BITS && !result; slot++) {
		uint32_t owner = slot % STEERING_MEMBERS;

		if (bpf_map_update_elem(table, &slot, &owner, BPF_ANY))
			result = -errno;
	}
	if (!result)
		result = load_program(table, sockets);
	if (table >= 0)
		close(table);
	return result;
}
