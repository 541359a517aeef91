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

/* Who gets datagrams, and what that changes in one to the service. Words are as on the wire. */
struct receiver {
	uint32_t address;
	uint32_t steps; /* what the sum behind the UDP checksum grows by */
};

struct forwarder {
	uint8_t *memory; /* FRAMES of FRAME_BYTES */
	struct xsk_umem *umem;
	struct xsk_socket *in, *out;
	/* A device has a fill and a completion ring of its own; nothing is received by `out`. */
	struct xsk_ring_prod fill, transmit, unused_fill;
	struct xsk_ring_cons receive, completion, unused_completion;
	uint8_t link[12]; /* the Ethernet addresses of what is sent */
	uint32_t service; /* as on the wire */
	uint16_t port;	  /* of the service and of the receivers; as on the wire */
	struct receiver receivers[RECEIVERS_MAX];
	unsigned int receiver_count;
	unsigned int turn; /* datagrams dealt so far */
};

/* Opens a socket that receives from queue 0 of one interface; ends the program when it
 * cannot. */
void open_input(struct forwarder *forwarder, const char *interface);
/* Opens a socket in the same memory that sends by the other interface. */
void open_output(struct forwarder *forwarder, const char *interface);
/* Leads UDP to the service's port to the input, in native mode; everything else passes. */
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
/* Gives frames back to receive into. There is room: the ring holds all of them. */
void refill(struct forwarder *forwarder, const uint64_t *addresses, uint32_t count);

#endif
