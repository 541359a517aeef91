/* SPDX-License-Identifier: Apache-2.0 */
/* trains.c: what it costs to receive trains of datagrams, merged or one by one. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <reuseport_lb.h>

#include "include/CSteering.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* linux/udp.h */
#endif

enum {
	TRAINS = 32,
	DATAGRAMS = 64,
	PAYLOAD = 64
};

static int open_sender(int receiver)
{
	int segment = PAYLOAD, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage to;
	socklen_t length = sizeof(to);

	if (fd < 0)
		return -errno;
	if (getsockname(receiver, (struct sockaddr *)&to, &length) ||
	    connect(fd, (struct sockaddr *)&to, length) ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment))) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static double cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* On loopback the kernel has queued the datagrams when the send call returns. */
static int round_of(struct rplb_batch *batch, int sender, int receiver, double *nanoseconds)
{
	static const char train[DATAGRAMS * PAYLOAD];
	const struct rplb_datagram *datagrams;
	size_t count, received = 0, bytes = 0;
	double begin;

	for (int i = 0; i < TRAINS; i++) {
		if (send(sender, train, sizeof(train), 0) < 0)
			return -errno;
	}
	begin = cpu_time();
	do {
		int error =
			rplb_receive_batch(batch, receiver, 0, RPLB_DONT_WAIT, &datagrams, &count);

		if (error)
			return error;
		for (size_t i = 0; i < count; i++)
			bytes += datagrams[i].length;
		received += count;
	} while (count);
	*nanoseconds = (cpu_time() - begin) / (TRAINS * DATAGRAMS);
	return received == TRAINS * DATAGRAMS && bytes == received * PAYLOAD ? 0 : -ENODATA;
}

int steering_trains(int fd, int merged, int rounds, double *apart, double *together)
{
	int senders[2] = {open_sender(fd), open_sender(merged)};
	struct rplb_batch *batch = NULL;
	int error = senders[0] < 0 ? senders[0] : senders[1] < 0 ? senders[1] : 0;

	if (!error)
		error = rplb_batch_new(64, PAYLOAD, &batch);
	for (int round = 0; round < rounds && !error; round++) {
		error = round_of(batch, senders[0], fd, &apart[round]);
		if (!error)
			error = round_of(batch, senders[1], merged, &together[round]);
	}
	rplb_batch_free(batch);
	for (int i = 0; i < 2; i++) {
		if (senders[i] >= 0)
			close(senders[i]);
	}
	return error;
}
