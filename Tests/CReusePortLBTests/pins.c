/* SPDX-License-Identifier: Apache-2.0 */
/* pins.c: rplb_group_open and rplb_group_destroy on a folder that has been changed. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lb/reuseport.h>

#include "lab.h"

static int reopen(const char *name)
{
	struct rplb_group *group = NULL;
	int error = rplb_group_open(name, &RPLB_OPTIONS(.count = 2), &group);

	rplb_group_close(group);
	return error;
}

static int record_of(const char *pin)
{
	int map = bpf_obj_get(pin);

	if (map < 0)
		lab_need(-errno, pin);
	return map;
}

/* Writes the record of a group as another process would have left it. */
static void rewrite(const char *pin, uint32_t abi, uint32_t state)
{
	int map = record_of(pin), zero = 0;
	struct lb_reuseport_group record;

	if (bpf_map_lookup_elem(map, &zero, &record))
		lab_need(-errno, "read the record");
	record.abi = abi;
	record.state = state;
	if (bpf_map_update_elem(map, &zero, &record, BPF_ANY))
		lab_need(-errno, "write the record");
	close(map);
}

static void other_version(void)
{
	rplb_group_close(lab_group("newer", 2));
	rewrite(RPLB_PIN_ROOT "/newer/group", LB_REUSEPORT_ABI + 1, LB_REUSEPORT_READY);
	lab_error(reopen("newer"), -EPROTONOSUPPORT, "a group of another version is not opened");
	lab_error(rplb_group_destroy(NULL, "newer"), -EPROTONOSUPPORT,
		  "a group of another version is not destroyed");
	rewrite(RPLB_PIN_ROOT "/newer/group", LB_REUSEPORT_ABI, LB_REUSEPORT_READY);
	lab_error(reopen("newer"), 0, "only the version prevented the open");
}

static void pin_foreign(const char *path)
{
	union bpf_attr shape = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	/* The libbpf function for this has a different name in each major version. */
	int map = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &shape, sizeof(shape));

	if (map < 0 || bpf_obj_pin(map, path))
		lab_need(-errno, "a foreign pin");
	close(map);
}

static void foreign(void)
{
	if (mkdir(RPLB_PIN_ROOT "/theirs", 0700) || mkdir(RPLB_PIN_ROOT "/alike", 0700))
		lab_need(-errno, "a foreign folder");
	pin_foreign(RPLB_PIN_ROOT "/theirs/other");
	lab_error(reopen("theirs"), -EPROTONOSUPPORT, "a folder with other pins is not taken over");
	lab_error(rplb_group_destroy(NULL, "theirs"), -EPROTONOSUPPORT,
		  "a folder with other pins is not destroyed");
	lab_ok(!access(RPLB_PIN_ROOT "/theirs/other", F_OK), "the other pins are still there");

	pin_foreign(RPLB_PIN_ROOT "/alike/group");
	lab_error(reopen("alike"), -EPROTONOSUPPORT,
		  "a map that only has the name group is foreign");
	pin_foreign(RPLB_PIN_ROOT "/file");
	lab_error(reopen("file"), -EPROTONOSUPPORT, "a pin in the place of the folder is foreign");

	rplb_group_close(lab_group("holed", 2));
	if (unlink(RPLB_PIN_ROOT "/holed/slots"))
		lab_need(-errno, "unlink");
	lab_error(reopen("holed"), -EPROTONOSUPPORT, "a group that lacks a map is not opened");
}

static void half_built(void)
{
	struct rplb_group *group;
	int fd = lab_udp(0);

	rplb_group_close(lab_group("half", 2));
	rewrite(RPLB_PIN_ROOT "/half/group", LB_REUSEPORT_ABI, LB_REUSEPORT_BUILDING);
	if (unlink(RPLB_PIN_ROOT "/half/program") || unlink(RPLB_PIN_ROOT "/half/tcp_members"))
		lab_need(-errno, "unlink");
	lab_error(reopen("half"), 0, "a group whose creator died is built anew");
	group = lab_group("half", 2);
	lab_error(rplb_join(group, fd, 0), 0, "and can be joined");
	rplb_group_close(group);
	close(fd);

	rewrite(RPLB_PIN_ROOT "/half/group", LB_REUSEPORT_ABI, LB_REUSEPORT_BUILDING);
	lab_error(rplb_group_destroy(NULL, "half"), 0, "a half-built group can be destroyed");
	lab_ok(access(RPLB_PIN_ROOT "/half", F_OK) && errno == ENOENT, "its folder is gone");

	if (mkdir(RPLB_PIN_ROOT "/bare", 0700))
		lab_need(-errno, "mkdir");
	lab_error(reopen("bare"), 0, "a group is created in an empty folder");
	if (mkdir(RPLB_PIN_ROOT "/bare2", 0700))
		lab_need(-errno, "mkdir");
	lab_error(rplb_group_destroy(NULL, "bare2"), 0, "an empty folder can be destroyed");
}

/* One call that waits for the lock of another process; all wait in parallel. */
struct waiter {
	pthread_t thread;
	struct rplb_group *group;
	int (*call)(struct rplb_group *group);
	int error;
	double seconds;
};

static int join_it(struct rplb_group *group)
{
	int fd = lab_udp(0);
	int error = rplb_join(group, fd, 0);

	close(fd);
	return error;
}

static int open_it(struct rplb_group *group)
{
	(void)group;
	return reopen("locked");
}

static int destroy_it(struct rplb_group *group)
{
	(void)group;
	return rplb_group_destroy(NULL, "locked");
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *wait_for_lock(void *context)
{
	struct waiter *waiter = context;
	double start = now();

	waiter->error = waiter->call(waiter->group);
	waiter->seconds = now() - start;
	return NULL;
}

static void locked(void)
{
	struct rplb_group *group = lab_group("locked", 2);
	int folder = open(RPLB_PIN_ROOT "/locked", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct waiter waiters[] = {
		{.group = group, .call = join_it},
		{.group = group, .call = open_it},
		{.group = group, .call = destroy_it},
	};
	static const char *const verbs[] = {"joining", "opening", "destroying"};

	if (folder < 0 || flock(folder, LOCK_EX))
		lab_need(-errno, "flock");
	for (int i = 0; i < 3; i++)
		lab_need(-pthread_create(&waiters[i].thread, NULL, wait_for_lock, &waiters[i]),
			 "thread");
	for (int i = 0; i < 3; i++) {
		pthread_join(waiters[i].thread, NULL);
		lab_error(waiters[i].error, -ETIMEDOUT, "%s gives up waiting for the lock",
			  verbs[i]);
		lab_ok(waiters[i].seconds >= 5 && waiters[i].seconds < 30,
		       "%s waits 5 seconds (%.2f)", verbs[i], waiters[i].seconds);
	}
	close(folder);
	lab_error(join_it(group), 0, "when the lock is free, joining succeeds");
	rplb_group_close(group);
}

int main(void)
{
	lab_enter();
	other_version();
	foreign();
	half_built();
	locked();
	return lab_leave();
}
