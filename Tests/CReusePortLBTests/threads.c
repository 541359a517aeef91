/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c: the threads of one process use one group at the same time. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "lab.h"

#define THREADS 8
#define ROUNDS 40
#define CONTESTS 500

static struct rplb_group *group;
static pthread_barrier_t gate;

struct worker {
	pthread_t thread;
	uint32_t slot;
	int error;
	int contested; /* how often the slot that all want was won */
};

/* Each thread has its own slot, and all compete for another one. */
static int turn(struct worker *worker, int own, int wanted)
{
	struct rplb_member list[RPLB_MEMBERS_LISTED];
	struct rplb_counters counters;
	struct rplb_info info;
	size_t found;
	int error = rplb_join(group, own, worker->slot);

	if (!error)
		error = rplb_join(group, wanted, THREADS);
	if (!error) {
		worker->contested++;
		error = rplb_leave(group, wanted);
	} else if (error == -EEXIST) {
		error = 0;
	}
	if (!error)
		error = rplb_counters(group, worker->slot, &counters);
	if (!error)
		error = rplb_members(group, list, RPLB_MEMBERS_LISTED, &found);
	if (!error && (found < 1 || found > THREADS + 1))
		error = -ENODATA;
	if (!error)
		error = rplb_resize(group, THREADS + 1 + worker->slot % 2);
	if (!error)
		error = rplb_info(group, &info);
	return error ? error : rplb_leave(group, own);
}

static void *work(void *context)
{
	struct worker *worker = context;
	int own = lab_udp(4739), wanted = lab_udp(4739);

	pthread_barrier_wait(&gate);
	for (int round = 0; round < ROUNDS && !worker->error; round++)
		worker->error = turn(worker, own, wanted);
	close(own);
	close(wanted);
	return NULL;
}

/* Opening is thread-safe too: every thread opens its own group at the same moment. */
static void *open_one(void *context)
{
	struct worker *worker = context;
	struct rplb_group *mine = NULL;

	pthread_barrier_wait(&gate);
	worker->error = rplb_group_open("at_once", &RPLB_OPTIONS(.count = 2), &mine);
	rplb_group_close(mine);
	return NULL;
}

/* Two threads join an empty group with two addresses. The first fixes the address; the library must check and
 * join under one lock so that the other one sees it. */
static void *contest(void *context)
{
	struct worker *worker = context;
	int fd = lab_udp((uint16_t)(4740 + worker->slot));

	for (int i = 0; i < CONTESTS; i++) {
		pthread_barrier_wait(&gate);
		int error = rplb_join(group, fd, worker->slot);

		worker->contested += !error;
		if (error && error != -EADDRNOTAVAIL)
			worker->error = error;
		pthread_barrier_wait(&gate);
		if (!error)
			rplb_leave(group, fd);
	}
	close(fd);
	return NULL;
}

static int run(uint32_t threads, void *(*body)(void *), struct worker *workers)
{
	int error = 0;

	pthread_barrier_init(&gate, NULL, threads);
	for (uint32_t i = 0; i < threads; i++) {
		workers[i] = (struct worker){.slot = i};
		lab_need(-pthread_create(&workers[i].thread, NULL, body, &workers[i]), "thread");
	}
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].error)
			error = workers[i].error;
	}
	pthread_barrier_destroy(&gate);
	return error;
}

/* `what` names the group in use. */
static void use(const char *what)
{
	struct worker workers[THREADS];
	size_t found = 1;
	int won = 0;

	lab_error(run(THREADS, work, workers), 0,
		  "%s: 8 threads join, leave, count, list and resize at once", what);
	for (int i = 0; i < THREADS; i++)
		won += workers[i].contested;
	lab_ok(won > 0, "%s: the slot that all want was won %d times", what, won);
	lab_need(rplb_members(group, NULL, 0, &found), "members");
	lab_ok(found == 0, "%s: all have left in the end", what);

	lab_error(run(2, contest, workers), 0, "%s: two threads bring two addresses", what);
	won = workers[0].contested + workers[1].contested;
	lab_ok(won == CONTESTS, "%s: one joins each time (%d of %d)", what, won, CONTESTS);
	rplb_group_close(group);
}

int main(void)
{
	struct worker workers[THREADS];

	lab_enter();
	group = lab_group("threads", THREADS + 2);
	use("a pinned group");
	/* A private group has no folder to lock, only the group's mutex. */
	group = lab_group(NULL, THREADS + 2);
	use("a private group");
	lab_error(run(THREADS, open_one, workers), 0, "8 threads open one group at once");
	return lab_leave();
}
