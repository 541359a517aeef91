// SPDX-License-Identifier: Apache-2.0
/*
 * gso.c: super-packets in and out, with round robin by the datagram.
 *
 * A receive returns up to 16 super-packets. Their datagrams are distributed round robin to the sinks without
 * copying: a sink's share is a list of pieces of the receive buffers. A share is sent as one super-packet at
 * the end of the batch, when it is full, or when a datagram of another size comes: all but the last datagram
 * of a super-packet have the same size.
 */

#include <errno.h>
#include <linux/udp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "forward.h"

enum {
	BATCH = 16,
	SUPER_PACKET_MAX = 65536,
	SHARE_DATAGRAMS_MAX = 64, /* UDP_MAX_SEGMENTS of kernels before 6.5 */
	SHARE_BYTES_MAX = 65507	  /* the largest UDP payload */
};

struct share {
	struct iovec pieces[SHARE_DATAGRAMS_MAX];
	size_t count;
	size_t size; /* bytes of each datagram in it */
};

static void send_share(const struct forwarder *forwarder, struct share *share, unsigned int sink)
{
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr message = {
		.msg_name = (void *)&forwarder->sinks[sink],
		.msg_namelen = sizeof(forwarder->sinks[sink]),
		.msg_iov = share->pieces,
		.msg_iovlen = share->count,
	};

	if (!share->count)
		return;
	if (share->count > 1) {
		uint16_t size = (uint16_t)share->size;
		struct cmsghdr *header;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = IPPROTO_UDP;
		header->cmsg_type = UDP_SEGMENT;
		header->cmsg_len = CMSG_LEN(sizeof(size));
		memcpy(CMSG_DATA(header), &size, sizeof(size));
	}
	sendmsg(forwarder->out, &message, MSG_DONTWAIT);
	share->count = 0;
}

static void add_to_share(const struct forwarder *forwarder, struct share *shares, unsigned int sink,
			 char *datagram, size_t size)
{
	struct share *share = &shares[sink];

	if (share->count == SHARE_DATAGRAMS_MAX || (share->count && share->size != size) ||
	    (share->count + 1) * size > SHARE_BYTES_MAX)
		send_share(forwarder, share, sink);
	share->size = size;
	share->pieces[share->count++] = (struct iovec){.iov_base = datagram, .iov_len = size};
}

/* The size of the received datagrams; without a UDP_GRO control message it is one datagram. */
static size_t datagram_size(struct msghdr *message, size_t length)
{
	struct cmsghdr *header;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level == IPPROTO_UDP && header->cmsg_type == UDP_GRO) {
			int size;

			memcpy(&size, CMSG_DATA(header), sizeof(size));
			return (size_t)size;
		}
	}
	return length;
}

static void deal(struct forwarder *forwarder, struct share *shares, struct mmsghdr *message)
{
	char *bytes = message->msg_hdr.msg_iov->iov_base;
	size_t length = message->msg_len, size = datagram_size(&message->msg_hdr, length);

	for (size_t at = 0; at < length; at += size) {
		size_t left = length - at;

		add_to_share(forwarder, shares, next_sink(forwarder), bytes + at,
			     left < size ? left : size);
	}
}

void forward_gso(struct forwarder *forwarder)
{
	static char buffers[BATCH][SUPER_PACKET_MAX];
	static char controls[BATCH][CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	static struct share shares[SINKS_MAX];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];

	for (;;) {
		int received;

		for (int i = 0; i < BATCH; i++) {
			parts[i].iov_base = buffers[i];
			parts[i].iov_len = sizeof(buffers[i]);
			messages[i] = (struct mmsghdr){
				.msg_hdr = {.msg_iov = &parts[i],
					    .msg_iovlen = 1,
					    .msg_control = controls[i],
					    .msg_controllen = sizeof(controls[i])},
			};
		}
		received = recvmmsg(forwarder->in, messages, BATCH, MSG_WAITFORONE, NULL);
		if (received < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		for (int i = 0; i < received; i++)
			deal(forwarder, shares, &messages[i]);
		for (unsigned int sink = 0; sink < forwarder->sink_count; sink++)
			send_share(forwarder, &shares[sink], sink);
	}
}
