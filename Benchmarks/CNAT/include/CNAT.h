/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CNAT.h: what xdp_nat costs a packet, without the kernel around it. Functions return 0 or -errno.
 */
#ifndef CNAT_H
#define CNAT_H

#include <stddef.h>
#include <stdint.h>

/* One way through the program. */
struct nat_case {
	int is_v6;
	int is_egress; /* from a server; else from a client */
	int is_new; /* a client that no packet came from before, each time; else one that is known */
	int is_routed; /* by the kernel's routes; else the frame goes back where it came from */
	int clients;   /* known ones that take turns: 1 … 2^20, a power of two; of new ones, 0 */
};

/*
 * Nanoseconds a run of BPF_PROG_TEST_RUN: of the program, and of nothing in its place. Rounds of both
 * alternate, in a network namespace of their own with routes to clients and servers.
 *
 * The packet of a test run is not put back between runs, so both stand behind a program that restores
 * its headers, and gives it the next source if clients are to be new.
 *
 * @object           the ELF object xdp_nat, `bytes` long
 * @program, @empty  one figure a round; `rounds` elements
 * @repeat           runs a round
 */
int nat_cost(const void *object, size_t bytes, const struct nat_case *way, int rounds, int repeat,
	     double *program, double *empty);

#endif
