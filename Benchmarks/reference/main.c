// SPDX-License-Identifier: Apache-2.0
/*
 * reference: two round-robin forwarders that make only the system calls. They show the cost of the kernel
 * alone, as the baseline for a forwarder that also counts, logs and reloads.
 *
 *   cc -O2 -D_GNU_SOURCE -o reference *.c
 *   taskset -c 0 ./reference mmsg|gso LISTEN_PORT SINK_PORT...
 *
 *   mmsg  recvmmsg, then sendmmsg: each datagram is a message
 *   gso   UDP_GRO in, UDP_SEGMENT out: the datagrams of a super-packet are distributed one by one, and
 *         those of a batch that go to one sink are sent as one super-packet
 *
 * Both listen and send on 127.0.0.1 only. They count nothing, ignore failed sends and run until
 * they are killed.
 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forward.h"

/* Requested sizes; the kernel grants at most net.core.rmem_max and wmem_max. */
enum {
	BUFFER_BYTES = 8 << 20
};

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int open_socket(int buffer_option)
{
	int bytes = BUFFER_BYTES, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket");
	if (setsockopt(fd, SOL_SOCKET, buffer_option, &bytes, sizeof(bytes)))
		err(1, "size of the socket buffer");
	return fd;
}

int main(int argc, char **argv)
{
	struct forwarder forwarder = {0};
	struct sockaddr_in at;
	int gso, on = 1;

	if (argc < 4 || argc > 3 + SINKS_MAX ||
	    (strcmp(argv[1], "mmsg") && strcmp(argv[1], "gso"))) {
		fprintf(stderr, "usage: reference mmsg|gso LISTEN_PORT SINK_PORT...\n");
		return 2;
	}
	gso = !strcmp(argv[1], "gso");
	for (int i = 3; i < argc; i++)
		forwarder.sinks[forwarder.sink_count++] = loopback(argv[i]);

	forwarder.in = open_socket(SO_RCVBUF);
	forwarder.out = open_socket(SO_SNDBUF);
	if (gso && setsockopt(forwarder.in, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		err(1, "UDP_GRO");
	at = loopback(argv[2]);
	if (bind(forwarder.in, (struct sockaddr *)&at, sizeof(at)))
		err(1, "bind to 127.0.0.1:%s", argv[2]);
	if (gso)
		forward_gso(&forwarder);
	else
		forward_mmsg(&forwarder);
	err(1, "recvmmsg");
}
