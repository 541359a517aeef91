/* SPDX-License-Identifier: Apache-2.0 */
/* race.c: processes that create one group at the same moment share one program. */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lab.h"

#define PROCESSES 8
#define ROUNDS 5

/* The kernel records the real uid of a program's creator, which identifies our programs on the machine. */
static uid_t creator;

static int programs(void)
{
	uint32_t id = 0;
	int count = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info;
		uint32_t bytes = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &bytes))
			count += info.created_by_uid == creator &&
				 info.type == BPF_PROG_TYPE_SK_REUSEPORT;
		close(fd);
	}
	return count;
}

static int open_and_join(uint32_t slot)
{
	struct rplb_group *group;
	int error = rplb_group_open("race", &RPLB_OPTIONS(.count = PROCESSES), &group);

	return error ? error : rplb_join(group, lab_udp(4739), slot);
}

/* Starts a child that waits for a byte, joins, reports, and keeps its socket until it is killed. */
static pid_t spawn(uint32_t slot, int go, int answers)
{
	pid_t child = fork();
	char word;
	int error;

	if (child)
		return child;
	/* In this order: a change of user clears the signal. */
	if (setresuid(creator, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || read(go, &word, 1) != 1)
		_exit(1);
	error = open_and_join(slot);
	if (write(answers, &error, sizeof(error)) != sizeof(error))
		_exit(1);
	for (;;)
		pause();
}

static void round_of(int number)
{
	int go[2], answers[2], error, failed = 0;
	pid_t children[PROCESSES];
	struct rplb_group *group;
	size_t found = 0;

	/* The kernel frees a program some time after its last use, so each round has its own creator. */
	creator = 200000 + (uid_t)(getpid() * ROUNDS + number);
	if (pipe2(go, 0) || pipe2(answers, 0))
		lab_need(-errno, "pipe");
	for (uint32_t i = 0; i < PROCESSES; i++) {
		children[i] = spawn(i, go[0], answers[1]);
		lab_need(children[i] < 0 ? -errno : 0, "fork");
	}
	close(go[0]);
	close(answers[1]);
	/* One byte for each child starts them. */
	for (int i = 0; i < PROCESSES; i++) {
		if (write(go[1], "!", 1) != 1)
			lab_need(-errno, "go");
	}
	for (int i = 0; i < PROCESSES; i++) {
		if (read(answers[0], &error, sizeof(error)) != sizeof(error))
			error = -EPIPE;
		if (error)
			failed = error;
	}
	lab_error(failed, 0, "round %d: all 8 open the group and join", number);
	group = lab_group("race", PROCESSES);
	lab_need(rplb_members(group, NULL, 0, &found), "members");
	lab_ok(found == PROCESSES, "round %d: they are members of the same group", number);
	lab_ok(programs() == 1, "round %d: there is one program", number);
	rplb_group_close(group);
	for (int i = 0; i < PROCESSES; i++)
		lab_end(children[i]);
	close(go[1]);
	close(answers[0]);
	lab_need(rplb_group_destroy(NULL, "race"), "destroy");
}

int main(void)
{
	lab_enter();
	for (int i = 1; i <= ROUNDS; i++)
		round_of(i);
	return lab_leave();
}
