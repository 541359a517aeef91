/* SPDX-License-Identifier: Apache-2.0 */
/* receives.c: receives COLLECTOR starts two collectors on one port and checks that each source reaches one of
 * them, and that both have sources. installed.sh runs it. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lab.h"

#define PORT "4739"
#define SOURCES 64
#define EACH 3

struct collector {
	pid_t pid;
	FILE *out, *err;
	int heard[SOURCES];
};

static void start(struct collector *collector, const char *program, const char *slot)
{
	int out[2], err[2];
	char line[256];

	if (pipe(out) || pipe(err))
		lab_need(-errno, "pipe");
	collector->pid = fork();
	if (collector->pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl(program, program, PORT, slot, "2", (char *)NULL);
		_exit(127);
	}
	lab_need(collector->pid < 0 ? -errno : 0, "fork");
	close(out[1]);
	close(err[1]);
	collector->out = fdopen(out[0], "r");
	collector->err = fdopen(err[0], "r");
	if (!fgets(line, sizeof(line), collector->err))
		line[0] = '\0';
	lab_ok(strstr(line, "receives"), "the collector of slot %s joins: %s", slot,
	       strtok(line, "\n"));
}

/* Each source is another address of 127.0.0.0/8. */
static void send_all(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(atoi(PORT)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	for (int source = 0; source < SOURCES; source++) {
		struct sockaddr_in from = {.sin_family = AF_INET,
					   .sin_addr.s_addr =
						   htonl(INADDR_LOOPBACK + 1 + (uint32_t)source)};
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		char text[16];
		int length = snprintf(text, sizeof(text), "%d", source);

		if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)))
			lab_need(-errno, "a source");
		for (int i = 0; i < EACH; i++) {
			if (sendto(fd, text, (size_t)length, 0, (struct sockaddr *)&to,
				   sizeof(to)) != length)
				lab_need(-errno, "sendto");
		}
		close(fd);
	}
}

/* Reads one line from either collector; false after ten seconds without one. */
static bool hear(struct collector collectors[2])
{
	struct pollfd polls[2] = {{.fd = fileno(collectors[0].out), .events = POLLIN},
				  {.fd = fileno(collectors[1].out), .events = POLLIN}};
	char line[64];

	if (poll(polls, 2, 10000) <= 0)
		return false;
	for (int i = 0; i < 2; i++) {
		if (!(polls[i].revents & POLLIN))
			continue;
		if (!fgets(line, sizeof(line), collectors[i].out))
			return false;
		int source = (int)(ntohl(inet_addr(strtok(line, ":"))) - INADDR_LOOPBACK - 1);
		if (source >= 0 && source < SOURCES)
			collectors[i].heard[source]++;
		return true;
	}
	return false;
}

int main(int count, char **arguments)
{
	static struct collector collectors[2];
	int split = 0, lost = 0, of[2] = {0}, lines = 0;

	if (count != 2)
		return 2;
	lab_enter();
	start(&collectors[0], arguments[1], "0");
	start(&collectors[1], arguments[1], "1");
	/* Unbuffered, so that poll(2) sees every line. */
	setvbuf(collectors[0].out, NULL, _IONBF, 0);
	setvbuf(collectors[1].out, NULL, _IONBF, 0);
	send_all();
	while (lines < SOURCES * EACH && hear(collectors))
		lines++;
	for (int source = 0; source < SOURCES; source++) {
		int first = collectors[0].heard[source], second = collectors[1].heard[source];

		lost += EACH - first - second;
		split += first && second;
		of[0] += first > 0;
		of[1] += second > 0;
	}
	lab_ok(lost == 0, "every datagram is received (%d are not)", lost);
	lab_ok(split == 0, "each source reaches one collector (%d reach both)", split);
	lab_ok(of[0] > 0 && of[1] > 0, "both collectors have sources: %d and %d", of[0], of[1]);
	lab_end(collectors[0].pid);
	lab_end(collectors[1].pid);
	return lab_leave();
}
