/* SPDX-License-Identifier: Apache-2.0 */
/* receive.c: many datagrams in one system call, those that the kernel merged split again. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "internal.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* linux/udp.h, Linux 5.0 */
#endif

#define BATCH_MAX 1024
/* More than any UDP datagram or super-packet. The lines on top spread the first bytes of the messages over the sets of
 * the processor's caches. */
#define ROOM 65536
#define STRIDE (ROOM + 3 * 64)
/* The kernel merges up to 64 datagrams, and passes on up to 128 of a local sender (UDP_MAX_SEGMENTS). */
#define SEGMENTS 128

union control {
	struct cmsghdr aligned;
	char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec)) +
		   CMSG_SPACE(sizeof(uint32_t))];
};

struct rplb_batch {
	uint32_t messages;
	uint32_t kept;
	struct mmsghdr *headers;
	struct iovec *vectors;
	struct sockaddr_in6 *names;
	union control *controls;
	char *payloads;
	struct rplb_datagram *datagrams;
	size_t room; /* datagrams */
};

int rplb_socket_prepare(int fd, unsigned int flags)
{
	static const struct {
		unsigned int flag;
		int level;
		int option;
	} known[] = {
		{RPLB_GRO, IPPROTO_UDP, UDP_GRO},
		{RPLB_TIMESTAMPS, SOL_SOCKET, SO_TIMESTAMPNS},
		{RPLB_DROPS, SOL_SOCKET, SO_RXQ_OVFL},
	};
	int yes = 1;

	if (flags & ~(unsigned int)(RPLB_GRO | RPLB_TIMESTAMPS | RPLB_DROPS))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (flags & known[i].flag &&
		    setsockopt(fd, known[i].level, known[i].option, &yes, sizeof(yes)))
			return -errno;
	}
	return 0;
}

void rplb_batch_free(struct rplb_batch *batch)
{
	if (!batch)
		return;
	free(batch->headers);
	free(batch->vectors);
	free(batch->names);
	free(batch->controls);
	free(batch->payloads);
	free(batch->datagrams);
	free(batch);
}

int rplb_batch_new(uint32_t messages, uint32_t bytes, struct rplb_batch **made)
{
	struct rplb_batch *batch;

	if (!made || !messages || messages > BATCH_MAX || !bytes)
		return -EINVAL;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->messages = messages;
	batch->kept = bytes;
	batch->room = (size_t)messages * SEGMENTS;
	batch->headers = calloc(messages, sizeof(*batch->headers));
	batch->vectors = calloc(messages, sizeof(*batch->vectors));
	batch->names = calloc(messages, sizeof(*batch->names));
	batch->controls = calloc(messages, sizeof(*batch->controls));
	batch->payloads = malloc((size_t)messages * STRIDE);
	batch->datagrams = malloc(batch->room * sizeof(*batch->datagrams));
	if (!batch->headers || !batch->vectors || !batch->names || !batch->controls ||
	    !batch->payloads || !batch->datagrams) {
		rplb_batch_free(batch);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < messages; i++) {
		struct msghdr *header = &batch->headers[i].msg_hdr;

		batch->vectors[i].iov_base = batch->payloads + (size_t)i * STRIDE;
		batch->vectors[i].iov_len = ROOM;
		header->msg_iov = &batch->vectors[i];
		header->msg_iovlen = 1;
		header->msg_name = &batch->names[i];
		header->msg_control = &batch->controls[i];
	}
	*made = batch;
	return 0;
}

/* What the kernel reports beside a message. */
struct facts {
	uint32_t segment; /* bytes of each datagram but the last; 0: one datagram */
	uint32_t drops;
	uint64_t received_ns;
};

static struct facts read_facts(struct msghdr *header)
{
	struct facts facts = {0};

	for (struct cmsghdr *each = CMSG_FIRSTHDR(header); each; each = CMSG_NXTHDR(header, each)) {
		if (each->cmsg_level == IPPROTO_UDP && each->cmsg_type == UDP_GRO) {
			int segment;

			memcpy(&segment, CMSG_DATA(each), sizeof(segment));
			facts.segment = segment > 0 ? (uint32_t)segment : 0;
		} else if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec at;

			memcpy(&at, CMSG_DATA(each), sizeof(at));
			facts.received_ns =
				(uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
		} else if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SO_RXQ_OVFL) {
			memcpy(&facts.drops, CMSG_DATA(each), sizeof(facts.drops));
		}
	}
	return facts;
}

/* Adds the datagrams of a message. */
static int split(struct rplb_batch *batch, uint32_t number, size_t *count)
{
	struct mmsghdr *message = &batch->headers[number];
	struct facts facts = read_facts(&message->msg_hdr);
	uint32_t left = message->msg_len,
		 segment = facts.segment && facts.segment < left ? facts.segment : left;
	size_t wanted = segment ? *count + (left + segment - 1) / segment : *count + 1;
	const char *bytes = batch->vectors[number].iov_base;

	if (wanted > batch->room) {
		struct rplb_datagram *more =
			realloc(batch->datagrams, 2 * wanted * sizeof(*batch->datagrams));

		if (!more)
			return -ENOMEM;
		batch->datagrams = more;
		batch->room = 2 * wanted;
	}
	for (; *count < wanted; (*count)++) {
		uint32_t length = left < segment ? left : segment;

		batch->datagrams[*count] = (struct rplb_datagram){
			.bytes = bytes,
			.kept = length < batch->kept ? length : batch->kept,
			.length = length,
			.source = (const struct sockaddr *)&batch->names[number],
			.received_ns = facts.received_ns,
			.drops = facts.drops,
		};
		bytes += length;
		left -= length;
	}
	return 0;
}

int rplb_receive_batch(struct rplb_batch *batch, int fd, uint32_t limit, unsigned int flags,
		       const struct rplb_datagram **datagrams, size_t *count)
{
	uint32_t wanted;
	size_t found = 0;
	int result, error = 0;

	if (!batch || !datagrams || !count || flags & ~(unsigned int)RPLB_DONT_WAIT)
		return -EINVAL;
	wanted = limit && limit < batch->messages ? limit : batch->messages;
	do {
		for (uint32_t i = 0; i < wanted; i++) {
			batch->headers[i].msg_hdr.msg_namelen = sizeof(*batch->names);
			batch->headers[i].msg_hdr.msg_controllen = sizeof(*batch->controls);
		}
		result = recvmmsg(fd, batch->headers, wanted,
				  flags & RPLB_DONT_WAIT ? MSG_DONTWAIT : MSG_WAITFORONE, NULL);
	} while (result < 0 && errno == EINTR);
	if (result < 0 && errno != EAGAIN)
		return -errno;
	/* A wait that shutdown(2) has ended reports one message without a source. */
	if (result == 1 && !batch->headers[0].msg_hdr.msg_namelen)
		result = 0;
	for (int i = 0; i < result && !error; i++)
		error = split(batch, (uint32_t)i, &found);
	if (error)
		return error;
	*datagrams = batch->datagrams;
	*count = found;
	return 0;
}
