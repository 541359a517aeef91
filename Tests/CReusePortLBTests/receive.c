/* SPDX-License-Identifier: Apache-2.0 */
/* receive.c: datagrams in batches, and what the kernel says about them. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* linux/udp.h */
#endif
#define PORT 4739
#define TRAIN 40

/* Sends bytes as a train of datagrams of `segment` bytes and a rest, which stay merged on the loopback interface. */
static void send_train(const void *bytes, size_t length, int segment)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) ||
	    sendto(fd, bytes, length, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)length)
		lab_need(-errno, "a train");
	close(fd);
}

static struct rplb_batch *new_batch(uint32_t messages, uint32_t bytes)
{
	struct rplb_batch *batch = NULL;

	lab_need(rplb_batch_new(messages, bytes, &batch), "a batch");
	return batch;
}

static void content(void)
{
	struct rplb_batch *batch = new_batch(8, 4);
	const struct rplb_datagram *got = NULL;
	int fd = lab_udp(PORT);
	size_t count = 9;

	lab_error(rplb_receive_batch(batch, fd, 0, RPLB_DONT_WAIT, &got, &count), 0,
		  "an empty queue is no error");
	lab_ok(count == 0, "and has no datagrams");
	lab_send(0x7f000102, 5000, PORT, "abc", 3);
	lab_send(0x7f000103, 0, PORT, "", 0);
	lab_send(0x7f000104, 0, PORT, "abcdefgh", 8);
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	lab_ok(count == 3, "one call receives what waits (%d)", (int)count);
	lab_ok(got[0].kept == 3 && got[0].length == 3 && !memcmp(got[0].bytes, "abc", 3),
	       "a datagram arrives");
	lab_ok(((const struct sockaddr_in *)got[0].source)->sin_port == htons(5000) &&
		       ((const struct sockaddr_in *)got[0].source)->sin_addr.s_addr ==
			       htonl(0x7f000102),
	       "with its source");
	lab_ok(got[1].length == 0, "an empty one too");
	lab_ok(got[2].kept == 4 && got[2].length == 8 && !memcmp(got[2].bytes, "abcd", 4),
	       "a long one is cut, and its length reported");
	lab_ok(!got[0].received_ns && !got[0].drops, "nothing else is, unless asked for");
	for (int i = 0; i < 20; i++)
		lab_send(0x7f000102, 0, PORT, "x", 1);
	lab_need(rplb_receive_batch(batch, fd, 5, 0, &got, &count), "receive");
	lab_ok(count == 5, "a limit holds");
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	lab_ok(count == 8, "so does the size of the batch");
	close(fd);
	rplb_batch_free(batch);
}

static void merged(void)
{
	struct rplb_batch *batch = new_batch(8, 65535);
	const struct rplb_datagram *got = NULL;
	char bytes[TRAIN * 100 + 7];
	int fd = lab_udp(PORT);
	size_t count, together = 0;
	bool right = true;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 / 5);
	lab_error(rplb_socket_prepare(fd, RPLB_GRO), 0, "a socket takes merged datagrams");
	for (int i = 0; i < 3; i++)
		send_train(bytes, sizeof(bytes), 100);
	lab_send(0x7f000102, 0, PORT, "end", 3);
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	lab_ok(count == 3 * (TRAIN + 1) + 1, "every datagram of three trains arrives (%d)",
	       (int)count);
	for (size_t i = 0; i + 1 < count; i++) {
		size_t place = i % (TRAIN + 1), length = place == TRAIN ? 7 : 100;

		right &= got[i].length == length && got[i].kept == length &&
			 !memcmp(got[i].bytes, bytes + place * 100, length);
		together += i && (const char *)got[i].bytes ==
					 (const char *)got[i - 1].bytes + got[i - 1].length;
	}
	lab_ok(right, "with its bytes, the shorter last ones too");
	lab_ok(together == 3 * TRAIN, "in place, not copied (%d)", (int)together);
	lab_ok(got[count - 1].length == 3, "and a single one behind them");
	rplb_batch_free(batch);

	batch = new_batch(1, 10);
	send_train(bytes, sizeof(bytes), 100);
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	lab_ok(count == TRAIN + 1 && got[1].kept == 10 && got[1].length == 100 &&
		       !memcmp(got[1].bytes, bytes + 100, 10),
	       "each is cut for itself");
	/* UDP_MAX_SEGMENTS datagrams of one byte. */
	send_train(bytes, 64, 1);
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	lab_ok(count == 64, "64 datagrams of one byte are 64");
	close(fd);
	rplb_batch_free(batch);
}

static void facts(void)
{
	struct rplb_batch *batch = new_batch(64, 64);
	const struct rplb_datagram *got = NULL;
	int fd = lab_udp(PORT), small = 4096;
	char bytes[1000] = {0};
	struct timespec now;
	uint64_t before;
	size_t count;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	lab_error(rplb_socket_prepare(fd, RPLB_TIMESTAMPS | RPLB_DROPS), 0,
		  "a socket reports times and drops");
	clock_gettime(CLOCK_REALTIME, &now);
	before = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (int i = 0; i < 100; i++)
		lab_send(0x7f000102, 0, PORT, bytes, sizeof(bytes));
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	clock_gettime(CLOCK_REALTIME, &now);
	lab_ok(got[0].received_ns >= before &&
		       got[0].received_ns <=
			       (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
	       "a datagram has the time of its arrival");
	lab_ok(count < 100 && got[0].drops == 0, "none was dropped before the first");
	lab_send(0x7f000102, 0, PORT, bytes, sizeof(bytes));
	small = (int)(100 - count);
	lab_need(rplb_receive_batch(batch, fd, 0, 0, &got, &count), "receive");
	lab_ok(count == 1 && got[0].drops == (uint32_t)small,
	       "the next one knows how many were (%u of %d)", got[0].drops, small);
	close(fd);
	rplb_batch_free(batch);
}

static void *shut(void *context)
{
	usleep(100000);
	shutdown(*(int *)context, SHUT_RD);
	return NULL;
}

static void ending(void)
{
	struct rplb_batch *batch = new_batch(4, 64);
	const struct rplb_datagram *got = NULL;
	int fd = lab_udp(PORT);
	pthread_t thread;
	size_t count = 9;

	if (pthread_create(&thread, NULL, shut, &fd))
		lab_need(-EAGAIN, "a thread");
	lab_error(rplb_receive_batch(batch, fd, 0, 0, &got, &count), 0, "shutdown ends a wait");
	lab_ok(count == 0, "without a datagram");
	pthread_join(thread, NULL);
	close(fd);
	lab_error(rplb_receive_batch(batch, fd, 0, 0, &got, &count), -EBADF,
		  "a closed socket is an error");
	lab_error(rplb_receive_batch(batch, fd, 0, 2, &got, &count), -EINVAL,
		  "so is an unknown flag");
	lab_error(rplb_receive_batch(NULL, fd, 0, 0, &got, &count), -EINVAL, "and no batch");
	rplb_batch_free(batch);
	rplb_batch_free(NULL);
	lab_error(rplb_batch_new(0, 1, &batch), -EINVAL, "a batch has a message");
	lab_error(rplb_batch_new(1025, 1, &batch), -EINVAL, "and 1024 at most");
	lab_error(rplb_batch_new(1, 0, &batch), -EINVAL, "and keeps a byte");
	lab_error(rplb_socket_prepare(0, 8), -EINVAL, "there are three preparations");
}

int main(void)
{
	lab_enter();
	content();
	merged();
	facts();
	ending();
	return lab_leave();
}
