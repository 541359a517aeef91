/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c: nanoseconds that a program runs, as the kernel counts them. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "programs.h"

enum {
	PACKETS = 1024,
	BURST = 64,
	PAYLOAD = 64,
	KEY = 12 /* where the payload key is */
};

static int run_time(int program, uint64_t *nanoseconds, uint64_t *runs, uint32_t *verified)
{
	struct bpf_prog_info info;
	uint32_t bytes = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(program, &info, &bytes))
		return -errno;
	*nanoseconds = info.run_time_ns;
	*runs = info.run_cnt;
	*verified = info.verified_insns;
	return 0;
}

static void drain(const struct steering *bench)
{
	char bytes[PAYLOAD];

	for (int i = 0; i < STEERING_MEMBERS; i++)
		while (recv(bench->members[i], bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
			;
}

/* On loopback the program runs within the send call, so there is nothing to wait for. */
static int send_packets(const struct steering *bench, int count)
{
	char bytes[PAYLOAD] = {0};

	for (int i = 0; i < count; i++) {
		bytes[KEY] = (char)i;
		if (send(bench->senders[i % STEERING_SOURCES], bytes, sizeof(bytes), 0) < 0)
			return -errno;
		if (i % BURST == BURST - 1)
			drain(bench);
	}
	return 0;
}

static int round_of(const struct steering *bench, int program, double *nanoseconds,
		    uint32_t *verified)
{
	uint64_t before, after, runs_before, runs_after;
	int error = steering_attach(bench->members[0], program);

	if (!error)
		error = send_packets(bench, STEERING_SOURCES);
	if (!error)
		error = run_time(program, &before, &runs_before, verified);
	if (!error)
		error = send_packets(bench, PACKETS);
	if (!error)
		error = run_time(program, &after, &runs_after, verified);
	if (error)
		return error;
	if (runs_after - runs_before < PACKETS)
		return -ENODATA;
	*nanoseconds = (double)(after - before) / (double)(runs_after - runs_before);
	return 0;
}

int steering_cost(const struct steering *bench, int rounds, struct steering_cost *cost)
{
	int programs[STEERING_PROGRAMS] = {
		[STEERING_GROUP] = steering_group_program(),
		[STEERING_BARE] = steering_bare_program(),
		[STEERING_EMPTY] = steering_empty_program(),
	};
	int stats, error = 0;

	for (int i = 0; i < STEERING_PROGRAMS && !error; i++)
		error = programs[i] < 0 ? programs[i] : 0;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0 && !error)
		error = -errno;
	for (int round = 0; round < rounds && !error; round++) {
		for (int i = 0; i < STEERING_PROGRAMS && !error; i++)
			error = round_of(bench, programs[i], &cost->nanoseconds[i][round],
					 &cost->verified[i]);
	}
	if (stats >= 0)
		close(stats);
	for (int i = STEERING_BARE; i < STEERING_PROGRAMS; i++) {
		if (programs[i] >= 0)
			close(programs[i]);
	}
	return error;
}
