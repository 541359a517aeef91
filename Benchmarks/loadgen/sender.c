// SPDX-License-Identifier: Apache-2.0

#include "sender.h"

#include <arpa/inet.h>
#include <err.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <stdlib.h>

static bool within(int value, int least, int most)
{
	return value >= least && value <= most;
}

bool load_is_sane(const struct load *load)
{
	return within(load->port, 1, 65535) && within(load->payload, 1, UDP_PAYLOAD_MAX) &&
	       within(load->segments, 1, SEGMENTS_MAX) && within(load->flows, 1, FLOWS_MAX) &&
	       within(load->messages, 1, MESSAGES_MAX) &&
	       load->segments * load->payload <= UDP_PAYLOAD_MAX;
}

static int open_flow(const struct load *load)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)load->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		err(1, "socket of a flow");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "connect to 127.0.0.1:%d", load->port);
	if (load->segments > 1 &&
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &load->payload, sizeof(load->payload)))
		err(1, "UDP_SEGMENT");
	return fd;
}

void sender_open(struct sender *sender, const struct load *load)
{
	size_t bytes = (size_t)load->payload * (size_t)load->segments;

	sender->payload.iov_base = calloc(1, bytes);
	sender->payload.iov_len = bytes;
	if (!sender->payload.iov_base)
		err(1, "payload");
	/* All messages have the same bytes; the forwarder ignores the content. */
	for (int i = 0; i < load->messages; i++) {
		sender->messages[i].msg_hdr.msg_iov = &sender->payload;
		sender->messages[i].msg_hdr.msg_iovlen = 1;
	}
	for (int i = 0; i < load->flows; i++)
		sender->fds[i] = open_flow(load);
	sender->flows = load->flows;
	sender->messages_per_call = load->messages;
	sender->segments = load->segments;
}

void sender_send(struct sender *sender)
{
	int fd = sender->fds[sender->next];
	int taken = sendmmsg(fd, sender->messages, (unsigned int)sender->messages_per_call, 0);

	sender->next = (sender->next + 1) % sender->flows;
	if (taken > 0)
		sender->sent += (uint64_t)taken * (uint64_t)sender->segments;
}
