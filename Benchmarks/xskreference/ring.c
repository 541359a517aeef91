// SPDX-License-Identifier: Apache-2.0
/* ring.c: moves a batch from one ring to another; the frames stay in place. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "forward.h"

#define FIELD(type, at) (((struct { type value; } __attribute__((packed)) *)(at))->value)

static uint16_t fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* RFC 1624, equation 3. A hop subtracts 1 from the first byte of its word, that is, adds the complement of
 * that. The steering program has checked all headers. */
static void rewrite(uint8_t *frame, const struct forwarder *forwarder,
		    const struct receiver *receiver)
{
	uint8_t *ip = frame + 14, *udp = ip + 20;
	uint16_t check = FIELD(uint16_t, udp + 6);

	memcpy(frame, forwarder->link, sizeof(forwarder->link));
	ip[8]--;
	FIELD(uint16_t, ip + 10) =
		(uint16_t)~fold((uint16_t)~FIELD(uint16_t, ip + 10) + (uint64_t)receiver->steps +
				(uint16_t)~htons(1 << 8));
	FIELD(uint32_t, ip + 16) = receiver->address;
	FIELD(uint16_t, udp + 2) = forwarder->port;
	if (check) {
		check = (uint16_t)~fold((uint16_t)~check + (uint64_t)receiver->steps);
		FIELD(uint16_t, udp + 6) = check ? check : 0xffff;
	}
}

/* Has the kernel send all that is in the ring; a call sends a part. */
static void transmit(struct forwarder *forwarder)
{
	while (sendto(xsk_socket__fd(forwarder->out), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
	       errno == EAGAIN)
		;
}

/* What has been sent is received into again. */
static void recycle(struct forwarder *forwarder)
{
	uint64_t addresses[BATCH];
	uint32_t at, count = xsk_ring_cons__peek(&forwarder->completion, BATCH, &at);

	for (uint32_t i = 0; i < count; i++)
		addresses[i] = *xsk_ring_cons__comp_addr(&forwarder->completion, at + i);
	xsk_ring_cons__release(&forwarder->completion, count);
	refill(forwarder, addresses, count);
}

void forward_ring(struct forwarder *forwarder)
{
	for (;;) {
		uint32_t from, to, count;

		count = take(forwarder, &from);
		/* There is room, unless the kernel would not send. */
		if (!xsk_ring_prod__reserve(&forwarder->transmit, count, &to)) {
			xsk_ring_cons__cancel(&forwarder->receive, count);
			transmit(forwarder);
			recycle(forwarder);
			continue;
		}
		for (uint32_t i = 0; i < count; i++) {
			const struct xdp_desc *packet =
				xsk_ring_cons__rx_desc(&forwarder->receive, from + i);

			rewrite(forwarder->memory + packet->addr, forwarder,
				next_receiver(forwarder));
			*xsk_ring_prod__tx_desc(&forwarder->transmit, to + i) = *packet;
		}
		xsk_ring_cons__release(&forwarder->receive, count);
		xsk_ring_prod__submit(&forwarder->transmit, count);
		transmit(forwarder);
		recycle(forwarder);
	}
}
