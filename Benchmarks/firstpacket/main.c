// SPDX-License-Identifier: Apache-2.0
/*
 * firstpacket: measures the time from a forwarder's exec to its first forwarded datagram.
 *
 *   cc -O2 -D_GNU_SOURCE -o firstpacket main.c
 *   ./firstpacket LISTEN_PORT SINK_PORT COMMAND [ARGUMENT...]
 *
 * Starts COMMAND, which must forward from 127.0.0.1:LISTEN_PORT to 127.0.0.1:SINK_PORT, and sends it a
 * datagram every 0.2 ms until one arrives at the sink. Then ends the command. Prints one line of JSON; exit 1
 * with a message when nothing arrived within ten seconds.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PROBE_INTERVAL_NS = 200 * 1000,
	PATIENCE_MS = 10000,
	FAREWELL_MS = 2000
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static int open_sink(const char *port)
{
	struct sockaddr_in at = loopback(port);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		err(1, "sink at 127.0.0.1:%s", port);
	return fd;
}

/* Milliseconds until a datagram arrived, or -1. */
static double probe(int sink, const struct sockaddr_in *target, pid_t pid, double start)
{
	const struct timespec interval = {.tv_nsec = PROBE_INTERVAL_NS};
	struct pollfd readable = {.fd = sink, .events = POLLIN};
	/* Not connected, so that a missing listener is no error yet. */
	int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (out < 0)
		return -1;
	while (!interrupted && now_ms() - start < PATIENCE_MS) {
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			warnx("the command ended before it forwarded anything");
			return -1;
		}
		sendto(out, "probe", 5, 0, (const struct sockaddr *)target, sizeof(*target));
		if (ppoll(&readable, 1, &interval, NULL) > 0)
			return now_ms() - start;
	}
	warnx("nothing was forwarded in time");
	return -1;
}

static void end(pid_t pid)
{
	double start = now_ms();

	if (kill(pid, SIGTERM))
		return;
	while (now_ms() - start < FAREWELL_MS) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct sockaddr_in target;
	double start, took;
	pid_t pid;
	int sink;

	if (argc < 4) {
		fprintf(stderr, "usage: firstpacket LISTEN_PORT SINK_PORT COMMAND...\n");
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	target = loopback(argv[1]);
	sink = open_sink(argv[2]);

	start = now_ms();
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvp(argv[3], &argv[3]);
		err(127, "%s", argv[3]);
	}
	took = probe(sink, &target, pid, start);
	end(pid);
	if (took < 0)
		return 1;
	printf("{\"first_datagram_ms\":%.2f}\n", took);
	return 0;
}
