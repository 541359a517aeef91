/* SPDX-License-Identifier: Apache-2.0 */
/* adopt.c: sockets of processes that do not use the library are put into slots. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739
#define SOURCES 64
#define EACH 3
#define PROCESSES 100

/* Such a process only binds with SO_REUSEPORT. */
static int bind_only(void *unused)
{
	(void)unused;
	return lab_udp(PORT) < 0 ? -errno : 0;
}

static int bind_two(void *unused)
{
	(void)unused;
	return lab_udp(PORT) < 0 || lab_udp(PORT + 1) < 0 || dup(0) < 0 ? -errno : 0;
}

static int bind_exclusively(void *unused)
{
	(void)unused;
	return lab_socket((struct lab_socket){
		       .type = SOCK_DGRAM, .exclusive = true, .port = PORT + 2}) < 0
		       ? -errno
		       : 0;
}

static int bind_nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* By a new port: the kernel's own hash would spread a source over both. */
static void send_from(uint32_t source)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + source)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) != 1)
		lab_need(-errno, "send");
	close(fd);
}

static void send_all(void)
{
	for (uint32_t i = 0; i < SOURCES * EACH; i++)
		send_from(i % SOURCES);
}

static uint64_t selected(struct rplb_group *group, uint32_t slot)
{
	struct rplb_counters counters;

	lab_need(rplb_counters(group, slot, &counters), "counters");
	return counters.selected;
}

/* What the library says of a source. */
static int look_up(struct rplb_group *group, uint32_t source, uint32_t *slot,
		   struct rplb_member *member)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + source)};

	return rplb_slot_of(group, IPPROTO_UDP, (struct sockaddr *)&from, NULL, slot, member);
}

/* Whether the library finds for each source the member that gets its datagram. */
static bool finds(struct rplb_group *group, const struct rplb_member *members)
{
	bool good = true;

	for (uint32_t i = 0; i < SOURCES && good; i++) {
		struct rplb_member member;
		uint64_t before;
		uint32_t slot;

		if (look_up(group, i, &slot, &member) || slot > 1)
			return false;
		before = selected(group, slot);
		send_from(i);
		good = selected(group, slot) == before + 1 && member.pid == members[slot].pid;
	}
	return good;
}

static void each_to_one(struct rplb_group *group)
{
	struct rplb_counters counters[2];
	struct rplb_member members[RPLB_MEMBERS_LISTED];
	struct rplb_member member;
	pid_t processes[2];
	int misses = 0;
	uint32_t slot;
	size_t found;

	for (int i = 0; i < 2; i++) {
		processes[i] = lab_start(bind_only, NULL);
		lab_error(rplb_adopt(group, processes[i], i ? 0 : PORT, (uint32_t)i, 0), 0,
			  "the socket of another process is put into slot %d", i);
	}
	lab_need(rplb_members(group, members, RPLB_MEMBERS_LISTED, &found), "members");
	lab_ok(found == 2 && members[0].pid == processes[0] && members[1].pid == processes[1],
	       "they are listed with their own processes");
	send_all();
	for (uint32_t i = 0; i < 2; i++)
		lab_need(rplb_counters(group, i, &counters[i]), "counters");
	lab_ok(counters[0].selected + counters[1].selected == SOURCES * EACH &&
		       counters[0].selected % EACH == 0 && counters[0].selected > 0 &&
		       counters[1].selected > 0,
	       "each source reaches one of them: %llu and %llu",
	       (unsigned long long)counters[0].selected, (unsigned long long)counters[1].selected);
	lab_ok(finds(group, members), "the library finds the member of each source");
	for (uint32_t i = 0; i < 2; i++)
		lab_need(rplb_counters(group, i, &counters[i]), "counters");
	lab_end(processes[0]);
	for (uint32_t i = 0; i < SOURCES; i++) {
		lab_need(look_up(group, i, &slot, &member), "slot of");
		misses += member.slot != 1;
	}
	lab_ok(misses == 0, "and the fallback of those whose member has ended");
	send_all();
	lab_need(rplb_counters(group, 0, &counters[0]), "counters");
	lab_need(rplb_counters(group, 1, &counters[1]), "counters");
	lab_ok(counters[1].fallback == counters[0].missed && counters[0].missed > 0,
	       "when one ends the other gets its sources");
	processes[0] = lab_start(bind_only, NULL);
	lab_error(rplb_adopt(group, processes[0], PORT, 1, 0), -EEXIST, "a slot is taken");
	lab_error(rplb_adopt(group, processes[0], PORT, 1, 1), 0, "but its member can be replaced");
	lab_end(processes[0]);
	lab_end(processes[1]);
}

static int adopt_as_stranger(void *context)
{
	return rplb_adopt(context, getppid(), 0, 0, 0);
}

static void refusals(struct rplb_group *group)
{
	pid_t process = lab_start(bind_nothing, NULL);

	lab_error(rplb_adopt(group, process, 0, 0, 0), -ENXIO,
		  "a process without a socket is refused");
	lab_error(rplb_adopt(group, process, PORT, 0, 0), -ENXIO, "also by port");
	lab_error(rplb_adopt(group, 0, PORT, 0, 0), -EINVAL, "a process has a number above 0");
	lab_error(lab_as(LAB_STRANGER, adopt_as_stranger, group), -EPERM,
		  "another user's process is refused");
	lab_end(process);
	lab_error(rplb_adopt(group, process, PORT, 0, 0), -ESRCH, "as is one that has ended");
	process = lab_start(bind_two, NULL);
	lab_error(rplb_adopt(group, process, 0, 0, 0), -ENOTUNIQ,
		  "of two sockets the port is named");
	lab_error(rplb_adopt(group, process, PORT, 0, 0), 0, "and the right one is taken");
	lab_error(rplb_adopt(group, process, PORT, 1, 0), -EBUSY, "once");
	lab_end(process);
	process = lab_start(bind_exclusively, NULL);
	lab_error(rplb_adopt(group, process, PORT + 2, 0, 0), -ENOPROTOOPT,
		  "a socket without SO_REUSEPORT is refused");
	lab_end(process);
}

static void many(void)
{
	struct rplb_group *group = lab_group("many", PROCESSES);
	struct timespec start, end;
	pid_t processes[PROCESSES];
	int errors = 0;

	for (int i = 0; i < PROCESSES; i++)
		processes[i] = lab_start(bind_only, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < PROCESSES; i++)
		errors += rplb_adopt(group, processes[i], PORT, (uint32_t)i, 0) != 0;
	clock_gettime(CLOCK_MONOTONIC, &end);
	lab_ok(errors == 0 && end.tv_sec - start.tv_sec <= 2,
	       "100 processes are adopted within two seconds");
	for (int i = 0; i < PROCESSES; i++)
		lab_end(processes[i]);
	rplb_group_close(group);
}

int main(void)
{
	struct rplb_group *group;

	lab_enter();
	group = lab_group("strangers", 2);
	each_to_one(group);
	refusals(group);
	rplb_group_close(group);
	many();
	return lab_leave();
}
