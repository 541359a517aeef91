/* SPDX-License-Identifier: Apache-2.0 */
/* debug.c: with --enable-debug the library and the kernel program log; otherwise both are silent. DEBUG in
 * the environment is not empty when it was configured. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lab.h"

#define TRACING LAB_PLAIN_ROOT

static int joins;

static void hear(void *context, enum rplb_level level, const char *line)
{
	(void)context;
	joins += level == RPLB_LOG_DEBUG && !strncmp(line, "join:", 5);
}

/* Reading `trace` does not consume it, so other readers are not disturbed. */
static bool is_traced(const char *words)
{
	FILE *trace = fopen(TRACING "/trace", "r");
	char line[1024];
	bool found = false;

	if (!trace)
		lab_need(-errno, "open the trace");
	while (!found && fgets(line, sizeof(line), trace))
		found = strstr(line, words);
	fclose(trace);
	return found;
}

int main(void)
{
	const char *configured = getenv("DEBUG");
	bool debug = configured && *configured;
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(4739),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rplb_group *group;
	int fd, sender;

	lab_enter();
	lab_need(rplb_group_open("debug", &RPLB_OPTIONS(.count = 1, .log = hear), &group),
		 "a group");
	fd = lab_udp(4739);
	sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	lab_need(rplb_join(group, fd, 0), "join");
	if (sendto(sender, "x", 1, 0, (struct sockaddr *)&at, sizeof(at)) != 1)
		lab_need(-errno, "sendto");
	if (debug) {
		lab_ok(joins == 1, "a debug build of the library logs a join");
		if (mount("tracefs", TRACING, "tracefs", 0, NULL))
			lab_need(-errno, "mount tracefs");
		lab_ok(is_traced("lb: key"), "its program traces the choice");
	} else {
		lab_ok(joins == 0, "a normal build of the library logs no join");
	}
	close(sender);
	close(fd);
	rplb_group_close(group);
	return lab_leave();
}
