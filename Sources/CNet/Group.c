/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "CNet.h"

#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>

/* asm-generic/socket.h; older glibc lacks the names. */
enum {
	OPTION_ATTACH_REUSEPORT_CBPF = 51,
	OPTION_DETACH_REUSEPORT_BPF = 68
};

_Static_assert(
	sizeof(struct cnet_instruction) == sizeof(struct sock_filter) &&
		offsetof(struct cnet_instruction, jump_true) == offsetof(struct sock_filter, jt) &&
		offsetof(struct cnet_instruction, jump_false) == offsetof(struct sock_filter, jf) &&
		offsetof(struct cnet_instruction, operand) == offsetof(struct sock_filter, k),
	"cnet_instruction is sock_filter");
_Static_assert(CNET_LOAD_WORD == (BPF_LD | BPF_W | BPF_ABS) &&
		       CNET_JUMP_IF_EQUAL == (BPF_JMP | BPF_JEQ | BPF_K) &&
		       CNET_COPY_TO_X == (BPF_MISC | BPF_TAX) &&
		       CNET_SHIFT_RIGHT == (BPF_ALU | BPF_RSH | BPF_K) &&
		       CNET_XOR_X == (BPF_ALU | BPF_XOR | BPF_X) &&
		       CNET_MULTIPLY == (BPF_ALU | BPF_MUL | BPF_K) &&
		       CNET_MODULO == (BPF_ALU | BPF_MOD | BPF_K) &&
		       CNET_RETURN_A == (BPF_RET | BPF_A) &&
		       CNET_RETURN_CONSTANT == (BPF_RET | BPF_K),
	       "the codes are the kernel's");
_Static_assert(CNET_NETWORK_HEADER == (uint32_t)SKF_NET_OFF &&
		       CNET_ETHER_PROTOCOL == (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL) &&
		       CNET_CPU == (uint32_t)(SKF_AD_OFF + SKF_AD_CPU),
	       "the places are the kernel's");

int cnet_attach_group_program(int fd, const struct cnet_instruction *program, unsigned int count)
{
	struct sock_fprog attached = {.len = (unsigned short)count,
				      .filter = (struct sock_filter *)program};

	if (count > BPF_MAXINSNS)
		return -EINVAL;
	if (setsockopt(fd, SOL_SOCKET, OPTION_ATTACH_REUSEPORT_CBPF, &attached, sizeof(attached)))
		return -errno;
	return 0;
}

int cnet_detach_group_program(int fd)
{
	int unused = 0; /* the kernel requires a value */

	if (setsockopt(fd, SOL_SOCKET, OPTION_DETACH_REUSEPORT_BPF, &unused, sizeof(unused)))
		return -errno;
	return 0;
}

int cnet_leave_group(int fd)
{
	/* Sets "no device" again: the kernel rehashes the socket, which then leaves its group
	 * (net/ipv4/udp.c, udp_lib_rehash). */
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0))
		return -errno;
	return 0;
}
