// SPDX-License-Identifier: Apache-2.0
/* forward.h: the parts of the AF_XDP reference forwarder. */
#ifndef XSKREFERENCE_FORWARD_H
#define XSKREFERENCE_FORWARD_H

#include <stdint.h>
#include <xdp/xsk.h>

enum {
	BATCH = 64,
	FRAMES = 4096,
	FRAME_BYTES = 2048,
	RING = 2048,
	RECEIVERS_MAX = 16
};

/* A receiver, and how its address changes the checksum of a datagram to the service. Words are in network
 * order. */
struct receiver {
	uint32_t address;
	uint32_t steps; /* the increase of the sum for the UDP checksum */
};

struct forwarder {
	uint8_t *memory; /* FRAMES of FRAME_BYTES */
	struct xsk_umem *umem;
	struct xsk_socket *in, *out;
	/* Each device has a fill and a completion ring; nothing is received on `out`. */
	struct xsk_ring_prod fill, transmit, unused_fill;
	struct xsk_ring_cons receive, completion, unused_completion;
	uint8_t link[12]; /* the Ethernet addresses of what is sent */
	uint32_t service; /* as on the wire */
	uint16_t port;	  /* of the service and of the receivers; as on the wire */
	struct receiver receivers[RECEIVERS_MAX];
	unsigned int receiver_count;
	unsigned int turn; /* datagrams distributed so far */
};

/* Opens a socket that receives from queue 0 of one interface; ends the program when it
 * cannot. */
void open_input(struct forwarder *forwarder, const char *interface);
/* Opens a socket in the same memory that sends by the other interface. */
void open_output(struct forwarder *forwarder, const char *interface);
/* Redirects UDP to the service's port to the input, in native mode; everything else passes. */
void steer(const struct forwarder *forwarder, const char *interface);

/* Each runs until the program is killed. */
void forward_ring(struct forwarder *forwarder);
void forward_mmsg(struct forwarder *forwarder);

static inline const struct receiver *next_receiver(struct forwarder *forwarder)
{
	unsigned int turn = forwarder->turn;

	forwarder->turn = turn + 1 < forwarder->receiver_count ? turn + 1 : 0;
	return &forwarder->receivers[turn];
}

/* Takes packets from the receive ring, BATCH at most, and sleeps until there are some. */
uint32_t take(struct forwarder *forwarder, uint32_t *from);
/* Returns frames to the fill ring, which has room for all of them. */
void refill(struct forwarder *forwarder, const uint64_t *addresses, uint32_t count);

#endif
