/* SPDX-License-Identifier: Apache-2.0 */
/* Settle.c: waits until packets in the kernel's receive path are delivered. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "CNet.h"

/* The same on every architecture; older headers lack the names. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE_TABLE 2U /* CLOSE_RANGE_UNSHARE of linux/close_range.h */

/* Descriptors in a table that has never grown (NR_OPEN_DEFAULT: BITS_PER_LONG). */
enum {
	SMALLEST_TABLE = 64
};

struct table {
	sem_t is_shared, is_done;
	int has_grown;
};

/* Keeps the table in use by a second thread. */
static void share(void *opaque)
{
	struct table *table = opaque;

	sem_post(&table->is_shared);
	while (sem_wait(&table->is_done))
		;
}

/* Gives this thread its own descriptor table, shares it with another thread, and makes it grow: the
 * kernel then waits for a grace period (fs/file.c, expand_fdtable), because readers may still use the
 * old table. */
static void grow(void *opaque)
{
	struct table *table = opaque;
	unsigned long sharer;
	int grown;

	/* Without the process's descriptors, which otherwise would stay open meanwhile. */
	if (syscall(SYS_close_range, 3U, ~0U, UNSHARE_TABLE))
		return;
	if (cnet_thread_start(&sharer, 64 << 10, "settle", share, table))
		return;
	while (sem_wait(&table->is_shared))
		;
	grown = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, SMALLEST_TABLE);
	table->has_grown = grown >= SMALLEST_TABLE;
	sem_post(&table->is_done);
	cnet_thread_join(sharer);
	/* The table goes with its last thread. */
}

static int grow_table(void)
{
	struct table table = {.has_grown = 0};
	unsigned long thread;

	sem_init(&table.is_shared, 0, 0);
	sem_init(&table.is_done, 0, 0);
	if (!cnet_thread_start(&thread, 64 << 10, "settle", grow, &table))
		cnet_thread_join(thread);
	sem_destroy(&table.is_shared);
	sem_destroy(&table.is_done);
	return table.has_grown;
}

enum cnet_settled cnet_settle(void)
{
	struct timespec time = {0, 250 * 1000 * 1000L};

	/* Refused with nohz_full= (kernel/sched/membarrier.c), without CONFIG_MEMBARRIER and by some
	 * filters of calls. */
	if (!syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return CNET_SETTLED_BY_BARRIER;
	if (grow_table())
		return CNET_SETTLED_BY_TABLE;
	/* Before Linux 5.9, or without threads or descriptors: far longer than a packet takes to its
	 * socket. */
	nanosleep(&time, NULL);
	return CNET_SETTLED_BY_TIME;
}
