/* SPDX-License-Identifier: Apache-2.0 */
/* instructions.h: BPF programs written by hand, one function an instruction (linux/bpf.h). */
#ifndef CVETHLAB_INSTRUCTIONS_H
#define CVETHLAB_INSTRUCTIONS_H

#include <linux/bpf.h>
#include <stdint.h>

/* Sets a register to a number. */
static inline struct bpf_insn set(uint8_t reg, uint32_t value)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg, .imm = (int32_t)value};
}

static inline struct bpf_insn copy(uint8_t to, uint8_t from)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from};
}

/* `operation` is BPF_ADD, BPF_AND, ... */
static inline struct bpf_insn compute(uint8_t operation, uint8_t reg, int value)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | operation | BPF_K, .dst_reg = reg, .imm = value};
}

static inline struct bpf_insn compute_by(uint8_t operation, uint8_t reg, uint8_t by)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | operation | BPF_X, .dst_reg = reg, .src_reg = by};
}

static inline struct bpf_insn add(uint8_t reg, int value)
{
	return compute(BPF_ADD, reg, value);
}

/* The low 16 bits in network order. */
static inline struct bpf_insn to_be16(uint8_t reg)
{
	return (struct bpf_insn){.code = BPF_ALU | BPF_END | BPF_TO_BE, .dst_reg = reg, .imm = 16};
}

/* `size` is BPF_B, BPF_H, BPF_W or BPF_DW. */
static inline struct bpf_insn load(uint8_t size, uint8_t to, uint8_t from, int at)
{
	return (struct bpf_insn){.code = BPF_LDX | BPF_MEM | size,
				 .dst_reg = to,
				 .src_reg = from,
				 .off = (int16_t)at};
}

static inline struct bpf_insn put(uint8_t size, uint8_t to, int at, uint8_t from)
{
	return (struct bpf_insn){.code = BPF_STX | BPF_MEM | size,
				 .dst_reg = to,
				 .src_reg = from,
				 .off = (int16_t)at};
}

static inline struct bpf_insn put_number(uint8_t size, uint8_t to, int at, uint32_t value)
{
	return (struct bpf_insn){.code = BPF_ST | BPF_MEM | size,
				 .dst_reg = to,
				 .off = (int16_t)at,
				 .imm = (int32_t)value};
}

/* Stores 32 bits on the stack, `at` bytes from its end. */
static inline struct bpf_insn store(int at, uint32_t value)
{
	return put_number(BPF_W, BPF_REG_10, at, value);
}

/* `test` is BPF_JEQ, BPF_JNE, ...; skips `over` instructions when it is true. */
static inline struct bpf_insn skip(uint8_t test, uint8_t reg, int value, int over)
{
	return (struct bpf_insn){
		.code = BPF_JMP | test | BPF_K, .dst_reg = reg, .off = (int16_t)over, .imm = value};
}

static inline struct bpf_insn skip_by(uint8_t test, uint8_t reg, uint8_t other, int over)
{
	return (struct bpf_insn){.code = BPF_JMP | test | BPF_X,
				 .dst_reg = reg,
				 .src_reg = other,
				 .off = (int16_t)over};
}

static inline struct bpf_insn call(int function)
{
	return (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = function};
}

/* Returns register 0. */
static inline struct bpf_insn leave(void)
{
	return (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
}

/* A map, or with BPF_PSEUDO_MAP_VALUE what is in the only element of an array: two instructions. */
#define MAP(reg, kind, fd)                                                                         \
	(struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,                                       \
			  .dst_reg = (reg),                                                        \
			  .src_reg = (kind),                                                       \
			  .imm = (fd)},                                                            \
		(struct bpf_insn)                                                                  \
	{                                                                                          \
		0                                                                                  \
	}

/* Register 2: the packet of an XDP program; with fewer than `bytes` it steps over `over` instructions. Five
 * instructions; registers 3 and 4 are lost. */
#define OPEN_PACKET(bytes, over)                                                                   \
	load(BPF_W, BPF_REG_2, BPF_REG_1, 0), load(BPF_W, BPF_REG_3, BPF_REG_1, 4),                \
		copy(BPF_REG_4, BPF_REG_2), add(BPF_REG_4, (bytes)),                               \
		skip_by(BPF_JGT, BPF_REG_4, BPF_REG_3, (over))

#endif
