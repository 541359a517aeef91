/* SPDX-License-Identifier: Apache-2.0 */
/* adopts.c: adopts ADOPT runs that program to put the sockets of two processes that do not use the library
 * into a group. installed.sh runs it. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739
#define SOURCES 64
#define EACH 3

/* Such a process only binds with SO_REUSEPORT. */
static int bind_only(void *unused)
{
	(void)unused;
	return lab_udp(PORT) < 0 ? -errno : 0;
}

static int adopt(const char *program, const char *slot, pid_t process)
{
	char pid[16];
	int status;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", process);
	child = fork();
	if (child == 0) {
		execl(program, program, "strangers", "2", slot, pid, "4739", (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		lab_need(-errno, "adopt");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void send_all(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	/* A new port for each datagram: the kernel's own hash would spread a source over both. */
	for (int i = 0; i < SOURCES * EACH; i++) {
		struct sockaddr_in from = {
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(i % SOURCES))};
		int fd = socket(AF_INET, SOCK_DGRAM, 0);

		if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
		    sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) != 1)
			lab_need(-errno, "send");
		close(fd);
	}
}

int main(int count, char **arguments)
{
	struct rplb_counters counters[2];
	struct rplb_group *group = NULL;
	pid_t processes[2];

	if (count != 2)
		return 2;
	lab_enter();
	for (int i = 0; i < 2; i++) {
		processes[i] = lab_start(bind_only, NULL);
		lab_ok(adopt(arguments[1], i ? "1" : "0", processes[i]) == 0,
		       "the socket of another process is put into slot %d", i);
	}
	lab_ok(adopt(arguments[1], "0", getpid()) == 1,
	       "a process without such a socket is refused");
	send_all();
	lab_need(rplb_group_open("strangers", NULL, &group), "open");
	for (uint32_t i = 0; i < 2; i++)
		lab_need(rplb_counters(group, i, &counters[i]), "counters");
	lab_ok(counters[0].selected + counters[1].selected == SOURCES * EACH &&
		       counters[0].selected % EACH == 0 && counters[0].selected > 0 &&
		       counters[1].selected > 0,
	       "each source reaches one of them: %llu and %llu",
	       (unsigned long long)counters[0].selected, (unsigned long long)counters[1].selected);
	lab_end(processes[0]);
	send_all();
	lab_need(rplb_counters(group, 0, &counters[0]), "counters");
	lab_need(rplb_counters(group, 1, &counters[1]), "counters");
	lab_ok(counters[1].fallback == counters[0].missed && counters[0].missed > 0,
	       "when one ends the other gets its sources");
	lab_end(processes[1]);
	rplb_group_close(group);
	return lab_leave();
}
