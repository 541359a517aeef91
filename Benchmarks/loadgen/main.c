// SPDX-License-Identifier: Apache-2.0
/*
 * loadgen: saturates one UDP forwarder on loopback and prints the forwarder's cost of a datagram.
 *
 * By hand, with a forwarder that listens on 9000 and sends to 9001 and 9002:
 *
 *   cc -O2 -D_GNU_SOURCE -o loadgen *.c
 *   taskset -c 0 ./forwarder & taskset -c 1 ./loadgen -t 9000 -s 9001,9002 -p $!
 *
 *   -t PORT       where the forwarder listens, on 127.0.0.1
 *   -s PORT,...   the sinks, opened by this program on 127.0.0.1
 *   -p PID        the forwarder, whose CPU time is read
 *   -d SECONDS    measured time (3); -w SECONDS warm-up before it (0.5)
 *   -z BYTES      payload of a datagram (64)
 *   -g SEGMENTS   datagrams in a super-packet, sent as one (UDP_SEGMENT); 1 = plain (1)
 *   -f FLOWS      source ports (16); -b MESSAGES a system call (64)
 *
 * The cost is the on-CPU time of all threads of the forwarder divided by the datagrams that reached the
 * sinks. Compare this figure: packets a second depend on the load of the machine. Pin the two programs to
 * different CPUs, or the sender's kernel time disturbs the forwarder's caches.
 *
 * Prints one line of JSON; "in_all" counts the warm-up too. Exit: 0, or 1 with a message when the set-up
 * fails, 2 on bad usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cpu_time.h"
#include "sender.h"
#include "sinks.h"

struct options {
	struct load load;
	int sinks[SINKS_MAX];
	int sink_count;
	int pid;
	double seconds;
	double warm_up;
};

static int usage(void)
{
	fprintf(stderr, "usage: loadgen -t PORT -s PORT,... -p PID [-d SECONDS] [-w SECONDS]"
			" [-z BYTES] [-g SEGMENTS] [-f FLOWS] [-b MESSAGES]\n");
	return 2;
}

static int parse(int argc, char **argv, struct options *o)
{
	int opt;

	while ((opt = getopt(argc, argv, "t:s:p:d:w:z:g:f:b:")) != -1) {
		switch (opt) {
		case 't':
			o->load.port = atoi(optarg);
			break;
		case 's':
			for (char *port = strtok(optarg, ","); port; port = strtok(NULL, ",")) {
				if (o->sink_count == SINKS_MAX)
					return -1;
				o->sinks[o->sink_count++] = atoi(port);
			}
			break;
		case 'p':
			o->pid = atoi(optarg);
			break;
		case 'd':
			o->seconds = atof(optarg);
			break;
		case 'w':
			o->warm_up = atof(optarg);
			break;
		case 'z':
			o->load.payload = atoi(optarg);
			break;
		case 'g':
			o->load.segments = atoi(optarg);
			break;
		case 'f':
			o->load.flows = atoi(optarg);
			break;
		case 'b':
			o->load.messages = atoi(optarg);
			break;
		default:
			return -1;
		}
	}
	if (!o->sink_count || o->pid <= 0 || o->seconds <= 0 || o->warm_up < 0 || optind != argc)
		return -1;
	return load_is_sane(&o->load) ? 0 : -1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sends for this many seconds; returns how long it took. */
static double send_for(struct sender *sender, double seconds)
{
	double start = now(), end;

	do {
		sender_send(sender);
		end = now();
	} while (end - start < seconds);
	return end - start;
}

/*
 * Waits until the forwarder has sent everything: 100 ms without an arrival, or two seconds. Less would be too
 * short for a forwarder that has to wait for its CPU.
 */
static void drain(const struct sinks *sinks)
{
	uint64_t before = sinks_total(sinks);

	for (int i = 0, quiet = 0; i < 100 && quiet < 5; i++) {
		uint64_t after;

		usleep(20000);
		after = sinks_total(sinks);
		quiet = after == before ? quiet + 1 : 0;
		before = after;
	}
}

/* Prints the datagrams of each sink since a start, and returns their sum. */
static uint64_t print_arrivals(const struct sinks *sinks, const char *key, const uint32_t *start)
{
	uint64_t sum = 0;

	printf("\"%s\":[", key);
	for (int i = 0; i < sinks->count; i++) {
		uint32_t count = sinks_arrived(sinks, i) - start[i];

		sum += count;
		printf("%s%u", i ? "," : "", count);
	}
	printf("],");
	return sum;
}

int main(int argc, char **argv)
{
	struct options o = {
		.load = {.payload = 64, .segments = 1, .flows = 16, .messages = 64},
		.seconds = 3,
		.warm_up = 0.5,
	};
	struct sinks sinks = {0};
	struct sender sender = {0};
	uint32_t opened[SINKS_MAX] = {0}, start[SINKS_MAX];
	uint64_t cpu, sent, arrived;
	double seconds;

	if (parse(argc, argv, &o))
		return usage();
	for (int i = 0; i < o.sink_count; i++)
		sinks_open(&sinks, o.sinks[i]);
	sender_open(&sender, &o.load);

	send_for(&sender, o.warm_up);
	for (int i = 0; i < sinks.count; i++)
		start[i] = sinks_arrived(&sinks, i);
	cpu = cpu_time_ns(o.pid);
	sent = sender.sent;
	seconds = send_for(&sender, o.seconds);
	sent = sender.sent - sent;
	drain(&sinks);
	cpu = cpu_time_ns(o.pid) - cpu;

	printf("{\"payload\":%d,\"segments\":%d,\"seconds\":%.3f,\"sent\":%llu,", o.load.payload,
	       o.load.segments, seconds, (unsigned long long)sent);
	arrived = print_arrivals(&sinks, "per_sink", start);
	print_arrivals(&sinks, "per_sink_in_all", opened);
	printf("\"arrived\":%llu,\"cpu_ns\":%llu,\"cpu_ns_per_arrival\":%.1f,\"sent_in_all\":%llu}"
	       "\n",
	       (unsigned long long)arrived, (unsigned long long)cpu,
	       arrived ? (double)cpu / (double)arrived : 0.0, (unsigned long long)sender.sent);
	return 0;
}
