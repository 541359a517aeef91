/* SPDX-License-Identifier: Apache-2.0 */
/* cut_short.c: a process that dies at work, or forks while it holds the lock, does not block others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

#define PROCESSES 8

/* After how many calls of unlink(2) this process is killed; 0: never. The definition below also replaces
 * unlink for the library. */
static int unlinks_left;

int unlink(const char *path)
{
	int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);

	if (unlinks_left && !--unlinks_left)
		raise(SIGKILL);
	return result;
}

/* Destroys the group in a process that dies after some calls. Returns whether it died. */
static bool destroy_and_die(int unlinks)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		unlinks_left = unlinks;
		_exit(rplb_group_destroy(NULL, "cut") ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		lab_need(-errno, "a child");
	return WIFSIGNALED(status);
}

static void destroying(void)
{
	int deaths = 0, opened = 0, destroyed = 0, stale = 0, fd = lab_udp(0);

	for (;; deaths++) {
		struct rplb_group *old = lab_group("cut", 2), *next = NULL;
		bool died = destroy_and_die(deaths + 1);

		if (!died) {
			rplb_group_close(old);
			break;
		}
		stale += rplb_join(old, fd, 0) == -ENOENT;
		opened += !rplb_group_open("cut", &RPLB_OPTIONS(.count = 2), &next);
		stale += rplb_join(old, fd, 0) == -ENOENT;
		rplb_group_close(next);
		lab_need(rplb_group_destroy(NULL, "cut"), "destroy");
		rplb_group_close(old);
		rplb_group_close(lab_group("cut", 2));
		if (destroy_and_die(deaths + 1))
			destroyed += !rplb_group_destroy(NULL, "cut");
	}
	lab_ok(deaths == 13, "a group has thirteen pins (%d)", deaths);
	lab_ok(opened == deaths, "a group whose destroyer died is built anew (%d)", opened);
	lab_ok(destroyed == deaths, "and can be destroyed (%d)", destroyed);
	lab_ok(stale == 2 * deaths,
	       "a process that had the group open cannot join its remains (%d)", stale);
	close(fd);
}

static pid_t forked;

/* Called while the library holds the lock. */
static void fork_in_the_middle(void *context, enum rplb_level level, const char *line)
{
	(void)context;
	(void)line;
	if (level != RPLB_LOG_INFO || forked)
		return;
	forked = fork();
	if (forked == 0) {
		for (;;)
			pause();
	}
}

static void forking(void)
{
	struct rplb_options options = RPLB_OPTIONS(.count = 2, .log = fork_in_the_middle);
	struct rplb_group *group = NULL;

	lab_need(rplb_group_open("forked", &options, &group), "open");
	lab_ok(forked > 0, "another thread may fork while the lock is held");
	lab_error(rplb_resize(group, 3), 0, "the child does not hold the lock");
	lab_end(forked);
	rplb_group_close(group);
}

/* Also replaces mount for the library. It is slow, so that other processes start meanwhile. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data)
{
	if (flags & MS_NOEXEC)
		usleep(20000);
	return (int)syscall(SYS_mount, source, target, type, flags, data);
}

static int open_and_mount(int go)
{
	struct rplb_options options =
		RPLB_OPTIONS(.count = 2, .pin_root = LAB_PLAIN_ROOT, .flags = RPLB_MOUNT);
	struct rplb_group *group;
	char word;

	if (read(go, &word, 1) != 1)
		return 1;
	return rplb_group_open("mounted", &options, &group) ? 1 : 0;
}

static void mounting(void)
{
	int go[2], mounts = 0, failed = 0, status;

	if (pipe2(go, O_CLOEXEC))
		lab_need(-errno, "pipe");
	for (int i = 0; i < PROCESSES; i++) {
		if (fork() == 0)
			_exit(open_and_mount(go[0]));
	}
	if (write(go[1], "!!!!!!!!", PROCESSES) != PROCESSES)
		lab_need(-errno, "go");
	for (int i = 0; i < PROCESSES; i++)
		failed += wait(&status) < 0 || status != 0;
	while (!umount(LAB_PLAIN_ROOT))
		mounts++;
	lab_ok(!failed, "all processes that mount the pin root at once succeed");
	lab_ok(mounts == 1, "only one of them mounts (%d mounts)", mounts);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	lab_enter();
	destroying();
	forking();
	mounting();
	return lab_leave();
}
