/* SPDX-License-Identifier: Apache-2.0 */
/* Process.c: other processes (pidfd_open(2)). */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CNet.h"

/* The same on every architecture; older headers lack the name. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int cnet_pidfd_open(int32_t pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : (int)fd;
}
