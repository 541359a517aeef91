// SPDX-License-Identifier: Apache-2.0
/*
 * sinks.h: receivers that need no reader.
 *
 * A sink is a UDP socket whose filter refuses every datagram. The kernel counts each refusal in the
 * socket's drop counter, so arrivals are counted exactly without a running process. A super-packet is
 * split into its datagrams before the filter, on the sender's CPU time.
 */
#ifndef LOADGEN_SINKS_H
#define LOADGEN_SINKS_H

#include <stdint.h>

enum {
	SINKS_MAX = 64
};

struct sinks {
	int fds[SINKS_MAX];
	int count;
};

/* Adds a sink at 127.0.0.1:port; ends the program with a message when it cannot. */
void sinks_open(struct sinks *sinks, int port);

/* Datagrams that reached one sink since it was opened, modulo 2^32. */
uint32_t sinks_arrived(const struct sinks *sinks, int index);

/* The sum over all sinks. */
uint64_t sinks_total(const struct sinks *sinks);

#endif
