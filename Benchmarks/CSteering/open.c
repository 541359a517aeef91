/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: the senders, and the programs that the measurements attach. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "programs.h"

/* Distinct loopback addresses, which every Linux host has. */
#define FIRST_SOURCE 0x7f010001u

static int open_sender(uint32_t source, uint16_t port)
{
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

int steering_open(struct steering *bench)
{
	for (int i = 0; i < STEERING_SOURCES; i++)
		bench->senders[i] = -1;
	for (int i = 0; i < STEERING_SOURCES; i++) {
		int fd = open_sender(FIRST_SOURCE + (uint32_t)i, bench->port);

		if (fd < 0) {
			steering_close(bench);
			return fd;
		}
		bench->senders[i] = fd;
	}
	return 0;
}

void steering_close(struct steering *bench)
{
	for (int i = 0; i < STEERING_SOURCES; i++) {
		if (bench->senders[i] >= 0)
			close(bench->senders[i]);
	}
}

int steering_group_program(void)
{
	/* The library keeps the program open; it is the only one of its kind in this process. */
	for (int fd = 3; fd < 1024; fd++) {
		struct bpf_prog_info info;
		uint32_t bytes = sizeof(info);

		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &bytes) &&
		    info.type == BPF_PROG_TYPE_SK_REUSEPORT)
			return fd;
	}
	return -ENOENT;
}

int steering_empty_program(void)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = SK_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SK_REUSEPORT, "lb_empty", "Dual BSD/GPL", pass,
			       sizeof(pass) / sizeof(*pass), NULL);

	return fd < 0 ? -errno : fd;
}

int steering_attach(int member, int program)
{
	return setsockopt(member, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &program, sizeof(program))
		       ? -errno
		       : 0;
}

int steering_detach(int member)
{
	int unused = 0;

	if (!setsockopt(member, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &unused, sizeof(unused)))
		return 0;
	/* There is no program when two floods without one follow each other. */
	return errno == ENOENT ? 0 : -errno;
}
