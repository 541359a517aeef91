/* SPDX-License-Identifier: Apache-2.0 */
/* classic.c: a choice by source address without privilege, by a classic BPF program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

#define NET(offset) ((__u32)SKF_NET_OFF + (offset))

bool rplb_classic_suits(const struct rplb_options *options, int error)
{
	bool is_by_source = !options->key || options->key == RPLB_KEY_SOURCE_IP;

	if (!(options->flags & RPLB_FALLBACK) || !options->count || !is_by_source || options->flows)
		return false;
	/* Who may not search the root cannot open a group there. Otherwise -EACCES is about the pins of a group that
	 * exists, beside which the fallback would take over the port. */
	return error == -EPERM || error == -ENODEV || error == -EOPNOTSUPP ||
	       (error == -EACCES &&
		faccessat(AT_FDCWD, options->pin_root ? options->pin_root : RPLB_PIN_ROOT, X_OK,
			  AT_EACCESS));
}

/* The program returns a position among the sockets of the port, which the kernel has in the order of binding
 * (net/core/sock_reuseport.c); the kernel chooses by its own hash when there is no such position. */
int rplb_classic_attach(const struct rplb_group *group, int fd)
{
	struct sock_filter code[] = {
		/* the version of IP */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NET(0)),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 6, 2, 0),
		/* the source of IPv4 */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NET(12)),
		BPF_JUMP(BPF_JMP | BPF_JA, 10, 0, 0),
		/* that of IPv6, its words combined */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NET(8)),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NET(12)),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NET(16)),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NET(20)),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		/* a multiplicative hash, whose high bits are the best ones */
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 0x9e3779b1),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, group->options.count),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog program;

	/* An initialiser need not write the padding, which valgrind would report. */
	memset(&program, 0, sizeof(program));
	program.len = sizeof(code) / sizeof(*code);
	program.filter = code;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)))
		return errno == EINVAL ? -ENOPROTOOPT : -errno;
	return 0;
}
