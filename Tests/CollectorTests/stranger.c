/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stranger.c: a program that does not know of groups, as collectors in other languages are
 *
 *   stranger ADDRESS PORT [share | passed | quit | drain]
 *
 * It counts datagrams by source, and prints `ADDRESS COUNT` for each one when SIGTERM ends it. With `share` it sets
 * SO_REUSEPORT itself, with `passed` it takes its socket as LISTEN_FDS, with `quit` it ends as soon as it is bound.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOURCES_MAX 1024

static struct source {
	struct in_addr address;
	unsigned long count;
} sources[SOURCES_MAX];
static size_t source_count;
static volatile sig_atomic_t ends;

static void end(int number)
{
	(void)number;
	ends = 1;
}

static void count(struct in_addr address)
{
	size_t i = 0;

	while (i < source_count && sources[i].address.s_addr != address.s_addr)
		i++;
	if (i == SOURCES_MAX)
		abort();
	if (i == source_count)
		sources[source_count++].address = address;
	sources[i].count++;
}

static bool receive(int fd, int flags)
{
	struct sockaddr_in from;
	socklen_t bytes = sizeof(from);
	char payload[2048];

	if (recvfrom(fd, payload, sizeof(payload), flags, (struct sockaddr *)&from, &bytes) < 0)
		return false;
	count(from.sin_addr);
	return true;
}

static int open_socket(char **words, const char *mode)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int yes = 1, bytes = 64 << 20, fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (!strcmp(mode, "passed")) {
		const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");

		return pid && fds && atoi(pid) == getpid() && atoi(fds) == 1 ? 3 : -1;
	}
	inet_pton(AF_INET, words[1], &address.sin_addr);
	address.sin_port = htons((uint16_t)atoi(words[2]));
	if (!strcmp(mode, "share"))
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : fd;
}

int main(int argc, char **words)
{
	const char *mode = argc > 3 ? words[3] : "";
	struct sigaction action = {.sa_handler = end};
	int fd = open_socket(words, mode);

	if (fd < 0) {
		perror("bind");
		return 3;
	}
	sigaction(SIGTERM, &action, NULL);
	printf("bound\n");
	fflush(stdout);
	if (!strcmp(mode, "quit"))
		return 4;
	while (!ends)
		receive(fd, 0);
	/* A program without a mode loses what is still in its queue, as most programs do. */
	while (*mode && receive(fd, MSG_DONTWAIT))
		;
	for (size_t i = 0; i < source_count; i++)
		printf("%s %lu\n", inet_ntoa(sources[i].address), sources[i].count);
	return 0;
}
