/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: forwarders of XDP frames take turns, and the arrivals are counted. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"

struct wire {
	const struct lab_wire *ends;
	struct lab_rate *rate;
	struct lab_frames frames;
	struct lab_sink sink;
	int error;
};

struct flood {
	const struct lab_cases *turns;
	struct wire wires[LAB_LANES_MAX];
	int count;
	int error;
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t lab_cpu_ns(int process)
{
	clockid_t clock;

	return clock_getcpuclockid(process, &clock) ? 0 : read_clock(clock);
}

static int open_wire(struct wire *wire)
{
	int error = lab_stay_in(wire->ends->receiver);

	if (!error)
		error = lab_sink_open(&wire->sink, wire->ends);
	if (!error)
		error = lab_stay_in(wire->ends->client);
	return error ? error : lab_frames_open(&wire->frames, wire->ends);
}

static void close_wire(const struct wire *wire)
{
	lab_frames_close(&wire->frames);
	if (wire->sink.link >= 0)
		close(wire->sink.link);
	if (wire->sink.count >= 0)
		close(wire->sink.count);
}

/* Sends until a signal arrives, which the parent process may have blocked. */
static void *generate(void *argument)
{
	struct wire *wire = argument;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	wire->error = lab_stay_in(wire->ends->client);
	if (!wire->error)
		wire->error = lab_frames_send(&wire->frames, INT32_MAX);
	return NULL;
}

/* Ends the generator. Repeats the signal, because one before the system call has no effect. */
static void end(pthread_t generator)
{
	struct timespec soon;

	do {
		pthread_kill(generator, SIGUSR1);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec = (soon.tv_nsec + 5000000) % 1000000000;
		soon.tv_sec += soon.tv_nsec < 5000000;
	} while (pthread_timedjoin_np(generator, NULL, &soon));
}

static void measure(struct wire *wire, int milliseconds)
{
	uint64_t before = read_clock(CLOCK_MONOTONIC), cpu = lab_cpu_ns(wire->ends->forwarder);
	uint64_t arrived = lab_sink_count(&wire->sink);

	usleep((useconds_t)milliseconds * 1000);
	wire->rate->arrived += lab_sink_count(&wire->sink) - arrived;
	wire->rate->cpu_ns += lab_cpu_ns(wire->ends->forwarder) - cpu;
	wire->rate->nanoseconds += read_clock(CLOCK_MONOTONIC) - before;
}

static int tell(const struct wire *wire, int signal)
{
	int process = wire->ends->forwarder;

	return process > 0 && kill(process, signal) ? -errno : 0;
}

/* The first frames show that the generator runs. */
static int take_turn(struct wire *wire, const struct lab_cases *turns)
{
	uint64_t made = lab_frames_count(&wire->frames);
	pthread_t generator;
	int error = tell(wire, SIGCONT);

	if (error)
		return error;
	error = pthread_create(&generator, NULL, generate, wire);
	if (error)
		return -error;
	while (lab_frames_count(&wire->frames) == made && !*(volatile int *)&wire->error)
		usleep(1000);
	usleep((useconds_t)turns->warm_up * 1000);
	measure(wire, turns->milliseconds);
	end(generator);
	tell(wire, SIGSTOP);
	return wire->error;
}

/* Makes sources known where that makes a difference. */
static int introduce(struct wire *wire)
{
	struct lab_wire all = *wire->ends;
	struct lab_frames frames;
	int error = tell(wire, SIGCONT);

	all.sources = all.known;
	if (!error)
		error = lab_stay_in(all.client);
	if (error)
		return error;
	error = lab_frames_open(&frames, &all);
	if (!error)
		error = lab_frames_send(&frames, all.known);
	if (!error)
		wire->rate->sent_in_all = lab_frames_count(&frames);
	lab_frames_close(&frames);
	tell(wire, SIGSTOP);
	return error;
}

/* Waits until no datagram is in flight: 20 ms without an arrival. */
static uint64_t settled(const struct wire *wire)
{
	uint64_t before, after = lab_sink_count(&wire->sink);

	do {
		usleep(20000);
		before = after;
		after = lab_sink_count(&wire->sink);
	} while (after != before);
	return after;
}

static void wake(int signal)
{
	(void)signal;
}

/* The generator has the CPU of the thread that starts it. */
static int run(struct flood *flood)
{
	const struct lab_cases *turns = flood->turns;
	cpu_set_t cpus;
	struct sigaction noticed = {.sa_handler = wake}, before;
	int error = 0;

	if (sigaction(SIGUSR1, &noticed, &before))
		return -errno;
	CPU_ZERO(&cpus);
	CPU_SET(turns->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return -errno;
	for (int i = 0; i < flood->count; i++)
		tell(&flood->wires[i], SIGSTOP);
	for (int i = 0; i < flood->count && !error; i++)
		error = introduce(&flood->wires[i]);
	for (int turn = 0; turn < turns->turns; turn++) {
		for (int i = 0; i < flood->count && !error; i++)
			error = take_turn(&flood->wires[turn % 2 ? flood->count - 1 - i : i],
					  turns);
	}
	for (int i = 0; i < flood->count; i++)
		tell(&flood->wires[i], SIGCONT);
	for (int i = 0; i < flood->count && !error; i++) {
		flood->wires[i].rate->arrived_in_all = settled(&flood->wires[i]);
		flood->wires[i].rate->sent_in_all += lab_frames_count(&flood->wires[i].frames);
	}
	sigaction(SIGUSR1, &before, NULL);
	return error;
}

static void *flood_wires(void *argument)
{
	struct flood *flood = argument;

	for (int i = 0; i < flood->count && !flood->error; i++)
		flood->error = open_wire(&flood->wires[i]);
	if (!flood->error)
		flood->error = run(flood);
	return NULL;
}

int lab_wire_flood(const struct lab_wire *wires, int count, const struct lab_cases *turns,
		   struct lab_rate *rates)
{
	struct flood flood = {.turns = turns, .count = count};
	int error;

	if (count < 1 || count > LAB_LANES_MAX)
		return -EINVAL;
	memset(rates, 0, sizeof(*rates) * (size_t)count);
	for (int i = 0; i < count; i++)
		flood.wires[i] = (struct wire){.ends = &wires[i],
					       .rate = &rates[i],
					       .frames = {.program = -1, .count = -1},
					       .sink = {-1, -1}};
	error = lab_on_a_thread(flood_wires, &flood);
	for (int i = 0; i < count; i++)
		close_wire(&flood.wires[i]);
	return error ? error : flood.error;
}
