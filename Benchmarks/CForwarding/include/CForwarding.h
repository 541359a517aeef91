/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CForwarding.h: the cost of tc_fanout per packet, without the surrounding kernel. Functions return 0 or
 * -errno.
 */
#ifndef CFORWARDING_H
#define CFORWARDING_H

#include <stddef.h>
#include <stdint.h>

/* One path through the program. */
struct forwarding_case {
	int is_v6;
	int looks_up; /* whether it looks up the route of each packet */
};

/*
 * Nanoseconds a run of BPF_PROG_TEST_RUN: of the program, of one that rewrites fixed fields, one by one, on
 * the same path, and of an empty one. Rounds of the three alternate, in a separate network namespace with
 * one route.
 *
 * A test run does not restore its packet between runs, so a wrapper program that restores the headers calls
 * each of them.
 *
 * @object                  the ELF object tc_fanout, `bytes` long
 * @program, @bare, @empty  one figure a round; `rounds` elements
 * @repeat                  runs a round
 */
int forwarding_cost(const void *object, size_t bytes, const struct forwarding_case *forwarding,
		    int rounds, int repeat, double *program, double *bare, double *empty);

#endif
