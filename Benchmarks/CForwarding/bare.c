/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare.c: the baseline: programs that send one known packet to its receiver in the textbook way, with a
 * helper for each field and each checksum. They parse, look up and count nothing.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <lb/checksum.h>

#include "load.h"

/* Stack offsets of the bytes that the helpers read. */
enum {
	FIELD = -16,   /* what is stored in the packet */
	NEXT = -40,    /* struct bpf_redir_neigh */
	LOOKUP = -112, /* struct bpf_fib_lookup */
	IP = 14,
	SKIP_NEIGH = 1 << 2 /* BPF_FIB_LOOKUP_SKIP_NEIGH, linux/bpf.h of Linux 6.3 */
};

struct code {
	struct bpf_insn at[160];
	size_t count;
};

static void add(struct code *code, struct bpf_insn instruction)
{
	code->at[code->count++] = instruction;
}

static void set(struct code *code, uint8_t reg, int32_t value)
{
	add(code,
	    (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg, .imm = value});
}

static void copy(struct code *code, uint8_t to, uint8_t from)
{
	add(code,
	    (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from});
}

/* A register that points to the stack. */
static void point(struct code *code, uint8_t reg, int where)
{
	copy(code, reg, BPF_REG_10);
	add(code,
	    (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = reg, .imm = where});
}

/* Stores bytes on the stack, in whole words. */
static void put(struct code *code, int where, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i += 4) {
		int32_t word;

		memcpy(&word, (const uint8_t *)bytes + i, sizeof(word));
		add(code, (struct bpf_insn){.code = BPF_ST | BPF_MEM | BPF_W,
					    .dst_reg = BPF_REG_10,
					    .off = (int16_t)(where + (int)i),
					    .imm = word});
	}
}

/* Calls a helper with the context as its first argument. */
static void call(struct code *code, int function)
{
	copy(code, BPF_REG_1, BPF_REG_6);
	add(code, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = function});
}

/* bpf_skb_store_bytes from FIELD. */
static void store(struct code *code, int offset, int bytes)
{
	set(code, BPF_REG_2, offset);
	point(code, BPF_REG_3, FIELD);
	set(code, BPF_REG_4, bytes);
	set(code, BPF_REG_5, 0);
	call(code, BPF_FUNC_skb_store_bytes);
}

/* bpf_l3_csum_replace or bpf_l4_csum_replace. */
static void replace_sum(struct code *code, int helper, int offset, uint32_t from, uint32_t to,
			int flags)
{
	set(code, BPF_REG_2, offset);
	set(code, BPF_REG_3, (int32_t)from);
	set(code, BPF_REG_4, (int32_t)to);
	set(code, BPF_REG_5, flags);
	call(code, helper);
}

static void rewrite_v4(struct code *code, const uint8_t *frame)
{
	uint32_t to = htonl((uint32_t)forwarding_receiver(0, 0).low), from, ttl = 63;
	int flags = BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0 | 4;

	memcpy(&from, frame + IP + 16, sizeof(from));
	replace_sum(code, BPF_FUNC_l4_csum_replace, IP + 26, from, to, flags);
	replace_sum(code, BPF_FUNC_l3_csum_replace, IP + 10, from, to, 4);
	replace_sum(code, BPF_FUNC_l3_csum_replace, IP + 10, htons(64 << 8), htons(63 << 8), 2);
	put(code, FIELD, &to, sizeof(to));
	store(code, IP + 16, sizeof(to));
	put(code, FIELD, &ttl, sizeof(ttl));
	store(code, IP + 8, 1);
}

static void rewrite_v6(struct code *code, const uint8_t *frame)
{
	const struct lb_addr receiver = forwarding_receiver(1, 0);
	uint64_t to[2] = {htobe64(receiver.high), htobe64(receiver.low)}, from[2], step;
	uint32_t ttl = 63;

	memcpy(from, frame + IP + 24, sizeof(from));
	step = lb_csum_step64(from[0], to[0]) + lb_csum_step64(from[1], to[1]);
	put(code, FIELD, to, sizeof(to));
	store(code, IP + 24, sizeof(to));
	put(code, FIELD, &ttl, sizeof(ttl));
	store(code, IP + 7, 1);
	replace_sum(code, BPF_FUNC_l4_csum_replace, IP + 46, 0, lb_fold(step),
		    BPF_F_PSEUDO_HDR | BPF_F_MARK_MANGLED_0);
}

/* Looks up the route; the result stays in LOOKUP. */
static void look_up(struct code *code, const uint8_t *frame, int is_v6)
{
	struct bpf_fib_lookup fib = {.family = is_v6 ? AF_INET6 : AF_INET,
				     .l4_protocol = IPPROTO_UDP,
				     .sport = htons(40000),
				     .dport = htons(FORWARDING_PORT),
				     .ifindex = FORWARDING_INGRESS};
	const struct lb_addr receiver = forwarding_receiver(is_v6, 0);
	uint64_t to[2] = {htobe64(receiver.high), htobe64(receiver.low)};

	if (is_v6) {
		memcpy(fib.ipv6_src, frame + IP + 8, sizeof(fib.ipv6_src));
		memcpy(fib.ipv6_dst, to, sizeof(to));
	} else {
		fib.tot_len = 20 + 8 + FORWARDING_PAYLOAD;
		memcpy(&fib.ipv4_src, frame + IP + 12, sizeof(fib.ipv4_src));
		fib.ipv4_dst = htonl((uint32_t)receiver.low);
	}
	put(code, LOOKUP, &fib, sizeof(fib));
	point(code, BPF_REG_2, LOOKUP);
	set(code, BPF_REG_3, sizeof(fib));
	set(code, BPF_REG_4, SKIP_NEIGH);
	call(code, BPF_FUNC_fib_lookup);
}

/* bpf_redirect_neigh to the receiver through the loopback, or after a lookup through its result. */
static void leave(struct code *code, int is_v6, int looks_up)
{
	const struct lb_addr receiver = forwarding_receiver(is_v6, 0);
	struct bpf_redir_neigh next = {.nh_family = is_v6 ? AF_INET6 : AF_INET};
	uint64_t hop[2] = {htobe64(receiver.high), htobe64(receiver.low)};
	int out = LOOKUP + (int)offsetof(struct bpf_fib_lookup, ifindex);

	memcpy(next.ipv6_nh, hop, sizeof(hop));
	if (!is_v6)
		next.ipv4_nh = htonl((uint32_t)receiver.low);
	put(code, NEXT, &next, sizeof(next));
	set(code, BPF_REG_1, FORWARDING_INGRESS);
	if (looks_up) {
		/* The next hop of a receiver on the link is the receiver, which is set already. */
		add(code, (struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_W,
					    .dst_reg = BPF_REG_1,
					    .src_reg = BPF_REG_10,
					    .off = (int16_t)out});
	}
	point(code, BPF_REG_2, NEXT);
	set(code, BPF_REG_3, sizeof(next));
	set(code, BPF_REG_4, 0);
	add(code, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_neigh});
	add(code, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
}

int forwarding_bare(const uint8_t *frame, const struct forwarding_case *forwarding)
{
	struct code code = {.count = 0};

	copy(&code, BPF_REG_6, BPF_REG_1);
	if (forwarding->looks_up)
		look_up(&code, frame, forwarding->is_v6);
	if (forwarding->is_v6)
		rewrite_v6(&code, frame);
	else
		rewrite_v4(&code, frame);
	leave(&code, forwarding->is_v6, forwarding->looks_up);
	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "lb_bare", "Dual BSD/GPL", code.at,
			     code.count, NULL);
}
