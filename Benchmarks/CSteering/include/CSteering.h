/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSteering.h: the cost of a reuseport program, measured on sockets that have joined a group.
 * Functions return 0 or -errno.
 */
#ifndef CSTEERING_H
#define CSTEERING_H

#include <stdint.h>

enum {
	STEERING_SOURCES = 256,
	STEERING_MEMBERS = 2
};

/* Sockets of the two collectors, bound to 127.0.0.1:port, and of the senders, each with its own source
 * address and connected to that port. */
struct steering {
	uint16_t port;
	int members[STEERING_MEMBERS];
	int senders[STEERING_SOURCES];
};

/* Opens the senders. */
int steering_open(struct steering *bench);
void steering_close(struct steering *bench);

/*
 * The program's run time per packet as the kernel measures it (kernel.bpf_stats_enabled), and that of an
 * empty program. Rounds of both alternate.
 *
 * @program, @empty  nanoseconds a run of each round; `rounds` elements
 */
int steering_cost(const struct steering *bench, int rounds, double *program, double *empty);

/*
 * Floods the port for `milliseconds` from one thread while two threads receive.
 *
 * @with_program  whether the group's program chooses, or the kernel
 * @received      datagrams that both got together
 */
int steering_flood(const struct steering *bench, int milliseconds, int with_program,
		   uint64_t *received);

#endif
