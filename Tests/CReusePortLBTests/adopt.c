/* SPDX-License-Identifier: Apache-2.0 */
/* adopt.c: puts the socket of another process into a slot; adopt NAME COUNT SLOT PID PORT. The page on the
 * C library shows it too. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <reuseport_lb.h>

int main(int count, char **arguments)
{
	if (count != 6)
		return fputs("usage: adopt NAME COUNT SLOT PID PORT\n", stderr), 2;
	struct rplb_options options =
		RPLB_OPTIONS(.count = atoi(arguments[2]), .flags = RPLB_MOUNT);
	struct rplb_group *group = NULL;
	struct sockaddr_in6 at; /* an IPv4 address has its port in the same place */
	int process = syscall(SYS_pidfd_open, atoi(arguments[4]), 0), fd, joined = 0;
	int error = rplb_group_open(arguments[1], &options, &group);

	for (int number = 0; number < 1024 && !error && !joined; number++) {
		socklen_t size = sizeof(at);
		if ((fd = syscall(SYS_pidfd_getfd, process, number, 0)) < 0)
			continue;
		if (!getsockname(fd, (struct sockaddr *)&at, &size) &&
		    (at.sin6_family == AF_INET || at.sin6_family == AF_INET6) &&
		    at.sin6_port == htons(atoi(arguments[5]))) {
			error = rplb_join(group, fd, atoi(arguments[3]));
			joined = !error;
		}
		close(fd);
	}
	rplb_group_close(group);
	if (error)
		return fprintf(stderr, "%s: %s\n", strerror(-error), rplb_explain(error)), 1;
	return joined ? 0
		      : (fputs("the process has no such socket, or may not be asked\n", stderr), 1);
}
