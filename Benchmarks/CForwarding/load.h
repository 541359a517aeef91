/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: the programs and tables of a measurement. Descriptors, 0 or -errno. */
#ifndef FORWARDING_LOAD_H
#define FORWARDING_LOAD_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "include/CForwarding.h"
#include "packet.h"

enum {
	/* The loopback, as the incoming interface of route lookups. */
	FORWARDING_INGRESS = 1
};

/* Gives the loaded program one listener with three receivers. */
int forwarding_fill(const struct bpf_object *object, const struct forwarding_case *forwarding);

/* An array that keeps the program as long as it is open. */
int forwarding_array(int program);
/* A program that restores the frame's headers and then calls the array's program. */
int forwarding_wrapper(const uint8_t *frame, int headers, int array);
/* A program that does nothing. */
int forwarding_nothing(void);
/* A program that only rewrites the frame for the first receiver, field by field, and sends it. */
int forwarding_bare(const uint8_t *frame, const struct forwarding_case *forwarding);

#endif
