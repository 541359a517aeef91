/* SPDX-License-Identifier: Apache-2.0 */
/* lab.c: the namespaces of a test program, and what it prints. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

#define SECONDS_MAX 120

static int cases, failures;

/* Names the failed step, so that the log is enough without a debugger. */
static void bail(const char *what, int error)
{
	printf("Bail out! %s: %s\n", what, strerror(error));
	exit(1);
}

static void must(int result, const char *what)
{
	if (result < 0)
		bail(what, errno);
}

static void raise_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must(fd, "socket");
	must(ioctl(fd, SIOCSIFFLAGS, &request), "lo up");
	close(fd);
}

/* All below /sys/fs, where a BPF file system is expected; a tmpfs makes room for it. */
static void mount_roots(void)
{
	must(mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL), "make / private");
	must(mount("tmpfs", "/sys/fs", "tmpfs", 0, "mode=0755"), "mount tmpfs");
	must(mkdir(RPLB_PIN_ROOT, 0755), RPLB_PIN_ROOT);
	must(mount("bpf", RPLB_PIN_ROOT, "bpf", 0, "mode=0711"), "mount bpf");
	must(mkdir(LAB_PLAIN_ROOT, 0777), LAB_PLAIN_ROOT);
	must(mkdir(LAB_OPEN_ROOT, 0755), LAB_OPEN_ROOT);
	must(mount("bpf", LAB_OPEN_ROOT, "bpf", 0, "mode=1777"), "mount bpf");
}

void lab_enter(void)
{
	/* A child must not print again what its parent has printed. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (geteuid() != 0) {
		printf("1..0 # SKIP NOT TESTED: only root can load the program; run make check as "
		       "root\n");
		exit(0);
	}
	umask(022);
	/* A hang is a failure, not a wait. valgrind makes a program about ten times as slow. */
	alarm(SECONDS_MAX);
	must(unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare");
	raise_loopback();
	mount_roots();
}

int lab_leave(void)
{
	printf("1..%d\n", cases);
	return failures ? 1 : 0;
}

static bool report(bool good, const char *sentence, va_list arguments)
{
	printf("%s %d - ", good ? "ok" : "not ok", ++cases);
	vprintf(sentence, arguments);
	printf("\n");
	failures += !good;
	return good;
}

bool lab_ok(bool good, const char *sentence, ...)
{
	va_list arguments;

	va_start(arguments, sentence);
	report(good, sentence, arguments);
	va_end(arguments);
	return good;
}

static const char *name_of(int error)
{
	return error == 0 ? "0" : strerror(error < 0 ? -error : error);
}

bool lab_error(int got, int want, const char *sentence, ...)
{
	va_list arguments;

	va_start(arguments, sentence);
	report(got == want, sentence, arguments);
	va_end(arguments);
	if (got != want) {
		printf("# returned %d (%s), ", got, name_of(got));
		printf("not %d (%s)\n", want, name_of(want));
	}
	return got == want;
}

void lab_need(int error, const char *what)
{
	if (error < 0)
		bail(what, -error);
}

/* In the child: sends the result of `work` through the pipe as an int. */
static void answer(int pipe_end, int (*work)(void *), void *context)
{
	int result = work(context);

	if (write(pipe_end, &result, sizeof(result)) != sizeof(result))
		_exit(1);
}

static int hear(int pipe_end, const char *what)
{
	int result;

	if (read(pipe_end, &result, sizeof(result)) != sizeof(result)) {
		printf("Bail out! %s: the child ended without an answer\n", what);
		exit(1);
	}
	close(pipe_end);
	return result;
}

static pid_t start(int (*work)(void *), void *context, uid_t uid, bool stay, int *result)
{
	int ends[2];
	pid_t child;

	must(pipe(ends), "pipe");
	child = fork();
	must(child, "fork");
	if (child == 0) {
		close(ends[0]);
		if (uid &&
		    (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
			_exit(1);
		/* After the change of user, which clears the signal. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(ends[1], work, context);
		while (stay)
			pause();
		_exit(0);
	}
	close(ends[1]);
	*result = hear(ends[0], "child");
	return child;
}

static int reap(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			bail("waitpid", errno);
	return status;
}

int lab_as(uid_t uid, int (*work)(void *), void *context)
{
	int result;
	int status = reap(start(work, context, uid, false, &result));

	/* valgrind and the sanitizers report by the exit status. */
	if (status) {
		printf("# a child ended with status %#x\n", (unsigned int)status);
		failures++;
	}
	return result;
}

pid_t lab_start(int (*work)(void *), void *context)
{
	int result;
	pid_t child = start(work, context, 0, true, &result);

	lab_need(result, "a child's work");
	return child;
}

void lab_end(pid_t child)
{
	kill(child, SIGKILL);
	reap(child);
}
