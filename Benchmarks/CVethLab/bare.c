/* SPDX-License-Identifier: Apache-2.0 */
/* bare.c: the baseline: programs that only send a packet on. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stddef.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "include/CVethLab.h"
#include "instructions.h"

/* Missing in Debian 12's headers: enum bpf_attach_type, linux/bpf.h of Linux 6.6. */
#define TCX_INGRESS 46

/* The link keeps the program. */
static int attach(const struct bpf_insn *code, size_t count, const char *at)
{
	int program = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "lb_bare", "Dual BSD/GPL", code, count,
				    NULL);
	int link;

	if (program < 0)
		return program;
	link = bpf_link_create(program, (int)if_nametoindex(at), TCX_INGRESS, NULL);
	close(program);
	return link;
}

int lab_bare_peer(const char *at, const char *out)
{
	const struct bpf_insn code[] = {
		set(BPF_REG_1, if_nametoindex(out)),
		set(BPF_REG_2, 0),
		call(BPF_FUNC_redirect_peer),
		leave(),
	};

	return attach(code, sizeof(code) / sizeof(*code), at);
}

int lab_bare_neigh(const char *at, const char *out, uint32_t next_hop)
{
	enum {
		BYTES = sizeof(struct bpf_redir_neigh)
	};
	/* Without an address the helper would look up the route of each packet. */
	const struct bpf_insn code[] = {
		// r2: the next hop
		store(-BYTES, AF_INET),
		store(-BYTES + 4, htonl(next_hop)),
		store(-BYTES + 8, 0),
		store(-BYTES + 12, 0),
		store(-BYTES + 16, 0),
		copy(BPF_REG_2, BPF_REG_10),
		add(BPF_REG_2, -BYTES),
		// r1: the way out; r3: how long the next hop is; r4: no flags
		set(BPF_REG_1, if_nametoindex(out)),
		set(BPF_REG_3, BYTES),
		set(BPF_REG_4, 0),
		call(BPF_FUNC_redirect_neigh),
		leave(),
	};

	_Static_assert(BYTES == 20 && offsetof(struct bpf_redir_neigh, ipv4_nh) == 4,
		       "the words above are this structure");
	return attach(code, sizeof(code) / sizeof(*code), at);
}
