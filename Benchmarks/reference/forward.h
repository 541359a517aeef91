// SPDX-License-Identifier: Apache-2.0
/* forward.h: the two loops of the reference forwarder. */
#ifndef REFERENCE_FORWARD_H
#define REFERENCE_FORWARD_H

#include <netinet/in.h>

enum {
	SINKS_MAX = 64
};

struct forwarder {
	int in;	 /* bound; with UDP_GRO on for forward_gso */
	int out; /* not connected */
	struct sockaddr_in sinks[SINKS_MAX];
	unsigned int sink_count; /* at least 1 */
	unsigned int turn;	 /* datagrams distributed so far */
};

/* Each returns only when receiving fails, with errno set. */
void forward_mmsg(struct forwarder *forwarder);
void forward_gso(struct forwarder *forwarder);

/* The index of the next sink. */
static inline unsigned int next_sink(struct forwarder *forwarder)
{
	return forwarder->turn++ % forwarder->sink_count;
}

#endif
