/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: the programs, tables and packets of a measurement. Descriptors, 0 or -errno. */
#ifndef NAT_LOAD_H
#define NAT_LOAD_H

#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <lb/nat.h>
#include <lb/packet.h>

#include "include/CNAT.h"

enum {
	NAT_PAYLOAD = 64,
	NAT_FRAME = 128, /* room for it and the headers */
	NAT_PORT = 5683,
	NAT_CLIENT_PORT = 40000
};

/* Fills in a frame with a datagram of 64 bytes; returns its length. */
int nat_frame(uint8_t frame[NAT_FRAME], const struct nat_case *way);
struct lb_addr nat_client(int is_v6);
struct lb_addr nat_service(int is_v6);
struct lb_addr nat_server(int is_v6, int number);

/* Sets constants and sizes of an object that is not loaded yet. */
int nat_prepare(struct bpf_object *object, const struct nat_case *way);
/* Gives the loaded program a service with three servers, and the client its association. */
int nat_fill(const struct bpf_object *object, const struct nat_case *way);

/* An array that keeps the program as long as it is open. */
int nat_array(int program);
/* A program that restores the frame's headers, with the next source for new clients, and then calls the
 * array's program. */
int nat_wrapper(const uint8_t *frame, int headers, int array, const struct nat_case *way);
/* A program that does nothing. */
int nat_nothing(void);

#endif
