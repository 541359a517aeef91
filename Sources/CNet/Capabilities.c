/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities.c: releases capabilities in every thread, and wakes a thread from a system call. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "CNet.h"

static _Atomic uint64_t kept;

static int permitted(pid_t thread, uint64_t *out)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, thread};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*out = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

/* Runs in each thread, because capabilities are per thread (capabilities(7)). Makes only system calls, which
 * are safe in a signal handler. */
static void keep_here(int signal)
{
	int saved = errno;
	uint64_t mask = atomic_load(&kept);
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];

	(void)signal;
	/* The bounding set goes first, while the thread has CAP_SETPCAP; without that nothing is lost. */
	for (int capability = 0; capability < 64; capability++)
		if (!(mask >> capability & 1))
			syscall(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
	if (!syscall(SYS_capget, &header, data)) {
		for (int i = 0; i < 2; i++) {
			uint32_t word = (uint32_t)(mask >> (32 * i));

			data[i].permitted &= word;
			data[i].effective &= word;
			data[i].inheritable = 0;
		}
		syscall(SYS_capset, &header, data);
	}
	errno = saved;
}

/* Signals every other thread that holds more: how many there were, or -errno. */
static int signal_threads(uint64_t mask)
{
	DIR *tasks = opendir("/proc/self/task");
	int more = 0;
	struct dirent *entry;

	if (!tasks)
		return -errno;
	while ((entry = readdir(tasks))) {
		pid_t thread = (pid_t)atoi(entry->d_name);
		uint64_t held;

		if (thread <= 0 || permitted(thread, &held) || !(held & ~mask))
			continue;
		more++;
		syscall(SYS_tgkill, getpid(), thread, CNET_SIGNAL_KEEP);
	}
	closedir(tasks);
	return more;
}

int cnet_keep_capabilities(uint64_t mask)
{
	struct sigaction action = {.sa_handler = keep_here, .sa_flags = SA_RESTART};

	atomic_store(&kept, mask);
	sigfillset(&action.sa_mask);
	if (sigaction(CNET_SIGNAL_KEEP, &action, NULL))
		return -errno;
	keep_here(0);
	/* A new thread of one that has not got the signal yet still has all capabilities: check again. */
	for (int round = 0; round < 1000; round++) {
		int more = signal_threads(mask);

		if (more <= 0)
			return more;
		cnet_pause(1000);
	}
	return -ETIMEDOUT;
}

int cnet_permitted_capabilities(uint64_t *out)
{
	return permitted(0, out);
}

static void nothing(int signal)
{
	(void)signal;
}

static void install_wake(void)
{
	/* Without SA_RESTART, so that the system call ends. */
	struct sigaction action = {.sa_handler = nothing};

	sigaction(CNET_SIGNAL_WAKE, &action, NULL);
}

void cnet_thread_interrupt(unsigned long thread)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install_wake);
	pthread_kill(thread, CNET_SIGNAL_WAKE);
}

int cnet_has_capabilities(const char *path)
{
	return getxattr(path, "security.capability", NULL, 0) > 0;
}
