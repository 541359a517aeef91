/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CNAT.h: the cost of xdp_nat per packet, without the surrounding kernel. Functions return 0 or -errno.
 */
#ifndef CNAT_H
#define CNAT_H

#include <stddef.h>
#include <stdint.h>

/* One path through the program. */
struct nat_case {
	int is_v6;
	int is_egress; /* from a server; else from a client */
	int is_new;    /* each packet from a new client; else from a known one */
	int is_routed; /* by the kernel's routes; else the frame goes back where it came from */
	int clients; /* known clients, round robin: 1 … 2^20, a power of two; with new ones, 0 */
};

/*
 * Nanoseconds a run of BPF_PROG_TEST_RUN: of the program, and of an empty one. Rounds of both alternate, in a
 * separate network namespace with routes to clients and servers.
 *
 * A test run does not restore its packet between runs, so a wrapper program that restores the headers, and
 * sets the next source for new clients, calls both.
 *
 * @object           the ELF object xdp_nat, `bytes` long
 * @program, @empty  one figure a round; `rounds` elements
 * @repeat           runs a round
 */
int nat_cost(const void *object, size_t bytes, const struct nat_case *way, int rounds, int repeat,
	     double *program, double *empty);

#endif
