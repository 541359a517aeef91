// SPDX-License-Identifier: Apache-2.0
/* steer.c: the program in front of the socket: as much of a parser as such a forwarder needs. */
#include <arpa/inet.h>
#include <err.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../CVethLab/instructions.h"
#include "forward.h"

void steer(const struct forwarder *forwarder, const char *interface)
{
	LIBBPF_OPTS(bpf_link_create_opts, native, .flags = XDP_FLAGS_DRV_MODE);
	int sockets = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "reference", sizeof(uint32_t),
				     sizeof(uint32_t), 1, NULL);
	const struct bpf_insn code[] = {
		OPEN_PACKET(42, 14),
		load(BPF_H, BPF_REG_3, BPF_REG_2, 12),
		skip(BPF_JNE, BPF_REG_3, htons(ETH_P_IP), 12),
		load(BPF_B, BPF_REG_3, BPF_REG_2, 14),
		skip(BPF_JNE, BPF_REG_3, 0x45, 10),
		load(BPF_B, BPF_REG_3, BPF_REG_2, 23),
		skip(BPF_JNE, BPF_REG_3, IPPROTO_UDP, 8),
		load(BPF_H, BPF_REG_3, BPF_REG_2, 36),
		skip(BPF_JNE, BPF_REG_3, forwarder->port, 6),
		load(BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct xdp_md, rx_queue_index)),
		MAP(BPF_REG_1, BPF_PSEUDO_MAP_FD, sockets),
		set(BPF_REG_3, XDP_PASS),
		call(BPF_FUNC_redirect_map),
		leave(),
		/* A packet of another queue than 0 passes, too: the map has no socket for it. */
		set(BPF_REG_0, XDP_PASS),
		leave(),
	};
	int program, link, error;

	if (sockets < 0)
		errx(1, "map of sockets: %s", strerror(-sockets));
	program = bpf_prog_load(BPF_PROG_TYPE_XDP, "reference", "Dual BSD/GPL", code,
				sizeof(code) / sizeof(*code), NULL);
	if (program < 0)
		errx(1, "load the program: %s", strerror(-program));
	error = xsk_socket__update_xskmap(forwarder->in, sockets);
	if (error)
		errx(1, "socket into the map: %s", strerror(-error));
	link = bpf_link_create(program, (int)if_nametoindex(interface), BPF_XDP, &native);
	if (link < 0)
		errx(1, "attach to %s in native mode: %s", interface, strerror(-link));
}
