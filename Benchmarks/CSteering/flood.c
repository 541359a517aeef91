/* SPDX-License-Identifier: Apache-2.0 */
/* flood.c: what two members together receive from a sender that saturates them. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "programs.h"

enum {
	BATCH = 32,
	PAYLOAD = 64
};

struct receiver {
	pthread_t thread;
	int fd;
	const atomic_int *stop;
	uint64_t received;
};

static void *receive(void *argument)
{
	struct receiver *receiver = argument;
	static _Thread_local char bytes[BATCH][PAYLOAD];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct timeval limit = {.tv_usec = 20000};

	setsockopt(receiver->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < BATCH; i++) {
		parts[i].iov_base = bytes[i];
		parts[i].iov_len = PAYLOAD;
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	while (!atomic_load_explicit(receiver->stop, memory_order_relaxed)) {
		int count = recvmmsg(receiver->fd, messages, BATCH, MSG_WAITFORONE, NULL);

		if (count > 0)
			receiver->received += (uint64_t)count;
	}
	return NULL;
}

static int64_t now_milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void flood(const struct steering *bench, int milliseconds)
{
	static char bytes[PAYLOAD];
	struct iovec part = {.iov_base = bytes, .iov_len = PAYLOAD};
	struct mmsghdr messages[BATCH];
	int64_t end = now_milliseconds() + milliseconds;

	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < BATCH; i++) {
		messages[i].msg_hdr.msg_iov = &part;
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned int source = 0; now_milliseconds() < end; source++)
		sendmmsg(bench->senders[source % STEERING_SOURCES], messages, BATCH, 0);
}

int steering_flood(const struct steering *bench, int milliseconds, int with_program,
		   uint64_t *received)
{
	struct receiver receivers[STEERING_MEMBERS];
	atomic_int stop = 0;
	int started = 0, error;

	error = with_program ? steering_group_program() : 0;
	if (error < 0)
		return error;
	error = with_program ? steering_attach(bench->members[0], error)
			     : steering_detach(bench->members[0]);
	for (; started < STEERING_MEMBERS && !error; started++) {
		struct receiver *receiver = &receivers[started];

		*receiver = (struct receiver){.fd = bench->members[started], .stop = &stop};
		error = -pthread_create(&receiver->thread, NULL, receive, receiver);
		if (error)
			break;
	}
	if (!error)
		flood(bench, milliseconds);
	atomic_store(&stop, 1);
	*received = 0;
	for (int i = 0; i < started; i++) {
		pthread_join(receivers[i].thread, NULL);
		*received += receivers[i].received;
	}
	return error;
}
