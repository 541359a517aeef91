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

/* The programs that are measured. */
enum steering_program {
	STEERING_GROUP, /* of the open group */
	STEERING_BARE,	/* hashes the source, looks up a table, selects a socket */
	STEERING_EMPTY, /* the cost of the measurement */
	STEERING_PROGRAMS
};

/* Nanoseconds a run in each round; `rounds` elements each. */
struct steering_cost {
	double *nanoseconds[STEERING_PROGRAMS];
	uint32_t verified
		[STEERING_PROGRAMS]; /* instructions that the verifier has followed (Linux 5.16) */
};

/* The programs' run time per packet as the kernel measures it (kernel.bpf_stats_enabled). Rounds alternate. */
int steering_cost(const struct steering *bench, int rounds, struct steering_cost *cost);

/*
 * Floods the port for `milliseconds` from one thread while two threads receive.
 *
 * @with_program  whether the group's program chooses, or the kernel
 * @received      datagrams that both got together
 */
int steering_flood(const struct steering *bench, int milliseconds, int with_program,
		   uint64_t *received);

/*
 * What it costs to receive trains of 64 datagrams of 64 bytes.
 *
 * @fd, @merged  sockets bound to 127.0.0.1; the second one has UDP_GRO
 * @apart, @together  CPU nanoseconds of the receiver's thread a datagram in each round; `rounds` elements
 */
int steering_trains(int fd, int merged, int rounds, double *apart, double *together);

#endif
