// SPDX-License-Identifier: Apache-2.0

#include "sinks.h"

#include <arpa/inet.h>
#include <err.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

void sinks_open(struct sinks *sinks, int port)
{
	struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &refuse};
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket of a sink");
	/* Before the bind, so that no datagram gets into the queue, where it would not be counted. */
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		err(1, "SO_ATTACH_FILTER of a sink");
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "bind a sink to 127.0.0.1:%d", port);
	sinks->fds[sinks->count++] = fd;
}

uint32_t sinks_arrived(const struct sinks *sinks, int index)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(info);

	if (getsockopt(sinks->fds[index], SOL_SOCKET, SO_MEMINFO, info, &length))
		err(1, "SO_MEMINFO of a sink");
	return info[SK_MEMINFO_DROPS];
}

uint64_t sinks_total(const struct sinks *sinks)
{
	uint64_t total = 0;

	for (int i = 0; i < sinks->count; i++)
		total += sinks_arrived(sinks, i);
	return total;
}
