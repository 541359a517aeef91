// SPDX-License-Identifier: Apache-2.0
/* mmsg.c: receives a batch from the ring, and sends the payloads with one system call. */
#include <err.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "forward.h"

enum {
	HEADERS = 14 + 20 + 8
};

void forward_mmsg(struct forwarder *forwarder)
{
	static struct mmsghdr messages[BATCH];
	static struct iovec parts[BATCH];
	static struct sockaddr_in to[RECEIVERS_MAX];
	uint64_t addresses[BATCH];
	int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (out < 0)
		err(1, "socket to the receivers");
	for (unsigned int i = 0; i < forwarder->receiver_count; i++)
		to[i] = (struct sockaddr_in){.sin_family = AF_INET,
					     .sin_port = forwarder->port,
					     .sin_addr.s_addr = forwarder->receivers[i].address};
	for (;;) {
		uint32_t from, count = take(forwarder, &from);

		for (uint32_t i = 0; i < count; i++) {
			const struct xdp_desc *packet =
				xsk_ring_cons__rx_desc(&forwarder->receive, from + i);
			const struct receiver *receiver = next_receiver(forwarder);

			addresses[i] = packet->addr;
			parts[i] = (struct iovec){forwarder->memory + packet->addr + HEADERS,
						  packet->len - HEADERS};
			messages[i].msg_hdr =
				(struct msghdr){.msg_name = &to[receiver - forwarder->receivers],
						.msg_namelen = sizeof(*to),
						.msg_iov = &parts[i],
						.msg_iovlen = 1};
		}
		xsk_ring_cons__release(&forwarder->receive, count);
		sendmmsg(out, messages, count, MSG_DONTWAIT);
		refill(forwarder, addresses, count);
	}
}
