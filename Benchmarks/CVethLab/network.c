/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: unnamed network namespaces, so that none is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "frames.h"

static int current(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int lab_enter(int network)
{
	int before = current();

	if (before >= 0 && setns(network, CLONE_NEWNET)) {
		int error = -errno;

		close(before);
		return error;
	}
	return before;
}

int lab_network(void)
{
	int before = current(), made;

	if (before < 0)
		return before;
	made = unshare(CLONE_NEWNET) ? -errno : current();
	if (setns(before, CLONE_NEWNET) && made >= 0) {
		close(made);
		made = -errno;
	}
	close(before);
	return made;
}

int lab_stay_in(int network)
{
	int before = lab_enter(network);

	if (before < 0)
		return before;
	close(before);
	return 0;
}

int lab_on_a_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, body, argument);

	if (!error)
		pthread_join(thread, NULL);
	return -error;
}
