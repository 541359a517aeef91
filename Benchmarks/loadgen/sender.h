// SPDX-License-Identifier: Apache-2.0
/* sender.h: sends as many datagrams as one CPU can, round robin from several source ports. */
#ifndef LOADGEN_SENDER_H
#define LOADGEN_SENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	FLOWS_MAX = 256,
	MESSAGES_MAX = 256,
	SEGMENTS_MAX = 64,	/* UDP_MAX_SEGMENTS of kernels before 6.5 */
	UDP_PAYLOAD_MAX = 65507 /* 65535 less the IPv4 and UDP headers */
};

struct load {
	int port;     /* of the forwarder, on 127.0.0.1 */
	int payload;  /* bytes of a datagram */
	int segments; /* datagrams a message; above 1 it is a super-packet */
	int flows;    /* source ports */
	int messages; /* per system call */
};

struct sender {
	int fds[FLOWS_MAX];
	int flows;
	int next;
	int messages_per_call;
	int segments;
	struct mmsghdr messages[MESSAGES_MAX];
	struct iovec payload;
	uint64_t sent; /* datagrams that the kernel accepted */
};

/* Whether every number is within the limits above. */
bool load_is_sane(const struct load *load);

/* Opens the sockets; ends the program with a message when it cannot. */
void sender_open(struct sender *sender, const struct load *load);

/* One system call on the next flow. A refusal (no listener yet) sends nothing. */
void sender_send(struct sender *sender);

#endif
