// SPDX-License-Identifier: Apache-2.0
/* sockets.c: memory, rings and sockets (Documentation/networking/af_xdp.rst). */
#include <err.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/if_link.h>
#include <linux/if_xdp.h>

#include "forward.h"

static const struct xsk_socket_config settings = {
	.rx_size = RING,
	.tx_size = RING,
	.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
	.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
};

void refill(struct forwarder *forwarder, const uint64_t *addresses, uint32_t count)
{
	uint32_t at;

	if (!xsk_ring_prod__reserve(&forwarder->fill, count, &at) && count)
		errx(1, "the fill ring has no room");
	for (uint32_t i = 0; i < count; i++)
		*xsk_ring_prod__fill_addr(&forwarder->fill, at + i) = addresses[i];
	xsk_ring_prod__submit(&forwarder->fill, count);
}

uint32_t take(struct forwarder *forwarder, uint32_t *from)
{
	struct pollfd packets = {.fd = xsk_socket__fd(forwarder->in), .events = POLLIN};
	uint32_t count;

	while (!(count = xsk_ring_cons__peek(&forwarder->receive, BATCH, from)))
		poll(&packets, 1, -1);
	return count;
}

void open_input(struct forwarder *forwarder, const char *interface)
{
	const struct xsk_umem_config shape = {
		.fill_size = FRAMES, .comp_size = RING, .frame_size = FRAME_BYTES};
	size_t bytes = (size_t)FRAMES * FRAME_BYTES;
	int error;

	forwarder->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (forwarder->memory == MAP_FAILED)
		err(1, "memory for frames");
	error = xsk_umem__create(&forwarder->umem, forwarder->memory, bytes, &forwarder->fill,
				 &forwarder->unused_completion, &shape);
	if (!error)
		error = xsk_socket__create_shared(&forwarder->in, interface, 0, forwarder->umem,
						  &forwarder->receive, NULL, &forwarder->fill,
						  &forwarder->unused_completion, &settings);
	if (error)
		errx(1, "AF_XDP socket on %s: %s", interface, strerror(-error));
	for (uint64_t frame = 0; frame < FRAMES; frame++) {
		uint64_t address = frame * FRAME_BYTES;

		refill(forwarder, &address, 1);
	}
}

void open_output(struct forwarder *forwarder, const char *interface)
{
	int error = xsk_socket__create_shared(&forwarder->out, interface, 0, forwarder->umem, NULL,
					      &forwarder->transmit, &forwarder->unused_fill,
					      &forwarder->completion, &settings);

	if (error)
		errx(1, "AF_XDP socket on %s: %s", interface, strerror(-error));
}
