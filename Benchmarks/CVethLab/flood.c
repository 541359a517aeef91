/* SPDX-License-Identifier: Apache-2.0 */
/* flood.c: a sender that saturates its CPU, and a socket in another network that counts. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"

enum {
	FLOWS = 16,
	BATCH = 64,
	PAYLOAD = 64
};

struct lane {
	const struct lab_lane *ends;
	struct lab_count *count;
	int flows[FLOWS];
	int sink;
};

struct flood {
	const struct lab_cases *turns;
	struct lane lanes[LAB_LANES_MAX];
	int count;
	int error;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A UDP socket in a network, which the calling thread enters. */
static int open_in(int network)
{
	int before = lab_enter(network), fd;

	if (before < 0)
		return before;
	close(before);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* Its filter refuses every datagram: the kernel counts them, and no process has to read them. */
static int open_sink(struct lane *lane)
{
	struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &refuse};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(lane->ends->port)};

	lane->sink = open_in(lane->ends->receiver);
	if (lane->sink < 0)
		return lane->sink;
	/* Before the bind, so that no datagram gets into the queue, where it would not be counted. */
	if (setsockopt(lane->sink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    bind(lane->sink, (struct sockaddr *)&at, sizeof(at)))
		return -errno;
	return 0;
}

static int open_lane(struct lane *lane)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(lane->ends->port),
				 .sin_addr.s_addr = htonl(lane->ends->address)};
	int error = open_sink(lane);

	for (int i = 0; i < FLOWS && !error; i++) {
		lane->flows[i] = open_in(lane->ends->client);
		if (lane->flows[i] < 0)
			return lane->flows[i];
		if (connect(lane->flows[i], (struct sockaddr *)&to, sizeof(to)))
			return -errno;
	}
	return error;
}

static void close_lane(const struct lane *lane)
{
	for (int i = 0; i < FLOWS; i++) {
		if (lane->flows[i] >= 0)
			close(lane->flows[i]);
	}
	if (lane->sink >= 0)
		close(lane->sink);
}

static uint32_t refused(const struct lane *lane)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(info);

	getsockopt(lane->sink, SOL_SOCKET, SO_MEMINFO, info, &length);
	return info[SK_MEMINFO_DROPS];
}

/* Sends for this time; returns how long it took. */
static uint64_t send_for(struct lane *lane, int milliseconds)
{
	static char bytes[PAYLOAD];
	struct iovec part = {.iov_base = bytes, .iov_len = PAYLOAD};
	struct mmsghdr messages[BATCH];
	uint64_t start = now(), wanted = (uint64_t)milliseconds * 1000000u, took;

	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < BATCH; i++) {
		messages[i].msg_hdr.msg_iov = &part;
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned int flow = 0; (took = now() - start) < wanted; flow++) {
		int taken = sendmmsg(lane->flows[flow % FLOWS], messages, BATCH, 0);

		if (taken > 0)
			lane->count->sent_in_all += (uint64_t)taken;
	}
	return took;
}

static void take_turn(struct lane *lane, int milliseconds)
{
	uint32_t before = refused(lane);

	lane->count->nanoseconds += send_for(lane, milliseconds);
	lane->count->arrived += refused(lane) - before;
}

/* Waits until no datagram is in flight: 20 ms without an arrival. */
static uint32_t settled(const struct lane *lane)
{
	uint32_t before, after = refused(lane);

	do {
		usleep(20000);
		before = after;
		after = refused(lane);
	} while (after != before);
	return after;
}

static int run(struct flood *flood)
{
	const struct lab_cases *turns = flood->turns;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(turns->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return -errno;
	for (int i = 0; i < flood->count; i++)
		send_for(&flood->lanes[i], turns->warm_up);
	for (int turn = 0; turn < turns->turns; turn++) {
		for (int i = 0; i < flood->count; i++)
			take_turn(&flood->lanes[turn % 2 ? flood->count - 1 - i : i],
				  turns->milliseconds);
	}
	for (int i = 0; i < flood->count; i++)
		flood->lanes[i].count->arrived_in_all = settled(&flood->lanes[i]);
	return 0;
}

static void *work(void *argument)
{
	struct flood *flood = argument;

	for (int i = 0; i < flood->count && !flood->error; i++)
		flood->error = open_lane(&flood->lanes[i]);
	if (!flood->error)
		flood->error = run(flood);
	return NULL;
}

int lab_flood(const struct lab_lane *lanes, int count, const struct lab_cases *turns,
	      struct lab_count *counts)
{
	struct flood flood = {.turns = turns, .count = count};
	int error;

	if (count < 1 || count > LAB_LANES_MAX)
		return -EINVAL;
	memset(counts, 0, sizeof(*counts) * (size_t)count);
	for (int i = 0; i < count; i++) {
		flood.lanes[i] = (struct lane){.ends = &lanes[i], .count = &counts[i], .sink = -1};
		memset(flood.lanes[i].flows, -1, sizeof(flood.lanes[i].flows));
	}
	error = lab_on_a_thread(work, &flood);
	for (int i = 0; i < count; i++)
		close_lane(&flood.lanes[i]);
	return error ? error : flood.error;
}
