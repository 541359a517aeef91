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
	WARM_UP = 64,
	BURST = 64
};

static int run_time(int program, uint64_t *nanoseconds, uint64_t *runs)
{
	struct bpf_prog_info info;
	uint32_t bytes = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(program, &info, &bytes))
		return -errno;
	*nanoseconds = info.run_time_ns;
	*runs = info.run_cnt;
	return 0;
}

static void drain(const struct steering *bench)
{
	char bytes[64];

	for (int i = 0; i < STEERING_MEMBERS; i++)
		while (recv(bench->members[i], bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
			;
}

/* On loopback the program runs within the send call, so there is nothing to wait for. */
static int send_packets(const struct steering *bench, int count)
{
	for (int i = 0; i < count; i++) {
		if (send(bench->senders[i % STEERING_SOURCES], "x", 1, 0) != 1)
			return -errno;
		if (i % BURST == BURST - 1)
			drain(bench);
	}
	return 0;
}

static int round_of(const struct steering *bench, int program, double *nanoseconds)
{
	uint64_t before, after, runs_before, runs_after;
	int error = steering_attach(bench->members[0], program);

	if (!error)
		error = send_packets(bench, WARM_UP);
	if (!error)
		error = run_time(program, &before, &runs_before);
	if (!error)
		error = send_packets(bench, PACKETS);
	if (!error)
		error = run_time(program, &after, &runs_after);
	if (error)
		return error;
	if (runs_after - runs_before < PACKETS)
		return -ENODATA;
	*nanoseconds = (double)(after - before) / (double)(runs_after - runs_before);
	return 0;
}

int steering_cost(const struct steering *bench, int rounds, double *program, double *empty)
{
	int group = steering_group_program();
	int pass = group < 0 ? group : steering_empty_program();
	int stats, error = pass < 0 ? pass : 0;

	if (error)
		return error;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		error = -errno;
	for (int i = 0; i < rounds && !error; i++) {
		error = round_of(bench, group, &program[i]);
		if (!error)
			error = round_of(bench, pass, &empty[i]);
	}
	if (stats >= 0)
		close(stats);
	close(pass);
	return error;
}
