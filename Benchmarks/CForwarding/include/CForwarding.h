/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CForwarding.h: what tc_fanout costs a packet, without the kernel around it. Functions return 0 or
 * -errno.
 */
#ifndef CFORWARDING_H
#define CFORWARDING_H

#include <stddef.h>
#include <stdint.h>

/* One way through the program. */
struct forwarding_case {
	int is_v6;
	int looks_up; /* the route, for each packet */
};

/*
 * Nanoseconds a run of BPF_PROG_TEST_RUN: of the program, of one that rewrites fixed fields, one by one, on
 * the same way, and of nothing in its place. Rounds of the three alternate, in a network namespace of their
 * own with one route.
 *
 * The packet of a test run is not put back between runs, so all stand behind a program that restores its
 * headers.
 *
 * @object                  the ELF object tc_fanout, `bytes` long
 * @program, @bare, @empty  one figure a round; `rounds` elements
 * @repeat                  runs a round
 */
int forwarding_cost(const void *object, size_t bytes, const struct forwarding_case *forwarding,
		    int rounds, int repeat, double *program, double *bare, double *empty);

#endif
