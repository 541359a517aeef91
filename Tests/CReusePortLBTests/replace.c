/* SPDX-License-Identifier: Apache-2.0 */
/* replace.c: a socket replaces the member of a slot, and no datagram is lost, duplicated or misrouted. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739
#define SLOTS 4
#define SOURCES 64
/* Replacements of each slot under load. */
#define ROUNDS 25
/* Datagrams on their way at most: fewer than a socket's default buffer holds. */
#define AHEAD 150
#define SENT_MAX (1u << 22)

static struct sockaddr_in at(uint32_t address, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
}

static int sender(uint32_t source)
{
	struct sockaddr_in from = at(INADDR_LOOPBACK + source, 0), to = at(INADDR_LOOPBACK, PORT);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		lab_need(-errno, "a sender");
	return fd;
}

static bool gets(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Whether `takes` gets the source's datagram, and `other` does not. */
static bool goes_to(int from, int takes, int other)
{
	if (send(from, "x", 1, 0) != 1)
		lab_need(-errno, "send");
	return gets(takes) && !gets(other);
}

static struct rplb_member member(struct rplb_group *group, size_t index)
{
	struct rplb_member list[RPLB_MEMBERS_LISTED];
	size_t found;

	lab_need(rplb_members(group, list, RPLB_MEMBERS_LISTED, &found), "members");
	return index < found ? list[index] : (struct rplb_member){.slot = UINT32_MAX};
}

static void by_hand(struct rplb_group *group)
{
	int from = sender(0), first = lab_udp(PORT), second = lab_udp(PORT), third = lab_udp(PORT);

	lab_error(rplb_replace(group, first, 0), 0, "in an empty slot a replacement is a join");
	lab_error(rplb_is_replaced(group, first), 0, "it is not replaced then");
	lab_error(rplb_retire_replaced(group, first), -EAGAIN, "so it does not leave as replaced");
	lab_error(rplb_join(group, second, 0), -EEXIST, "its slot is taken for a join");
	lab_error(rplb_replace(group, first, 0), -EBUSY, "it cannot replace itself");
	lab_error(rplb_replace(group, second, 1), -ERANGE, "a slot is below the count");
	lab_error(rplb_replace(group, second, 0), 0, "another socket replaces it");
	lab_ok(goes_to(from, second, first), "and gets its packets");
	lab_error(rplb_is_replaced(group, first), 1, "the first one is replaced");
	lab_error(rplb_is_replaced(group, second), 0, "the second one is not");
	lab_error(rplb_replace(group, third, 0), -EEXIST, "a third one waits until one has left");
	lab_error(rplb_join(group, third, 0), -EEXIST, "as does a join");
	lab_ok(member(group, 0).generation == 2 && !member(group, 0).is_previous &&
		       member(group, 1).generation == 1 && member(group, 1).is_previous &&
		       member(group, 2).slot == UINT32_MAX,
	       "both are listed, the current one first");

	close(second);
	lab_ok(goes_to(from, first, third),
	       "when the second one dies, the first one gets the packets");
	lab_error(rplb_retire_replaced(group, first), -EAGAIN, "and keeps the slot");
	lab_ok(!member(group, 0).is_previous, "it is listed as the current one");
	lab_error(rplb_join(group, third, 0), -EEXIST, "the slot is still taken");
	lab_error(rplb_replace(group, third, 0), 0, "it can be replaced again");
	lab_ok(goes_to(from, third, first), "by a socket that gets the packets");
	lab_error(rplb_retire_replaced(group, first), 0, "then the first one leaves");
	lab_error(rplb_is_replaced(group, first), -ENOENT, "and is in no slot");
	lab_ok(goes_to(from, third, first), "the third one goes on");
	lab_ok(member(group, 0).generation == 3, "as the third generation");
	lab_need(rplb_leave(group, third), "leave");
	close(first);
	first = lab_udp(PORT);
	lab_error(rplb_join(group, first, 0), 0, "an empty slot can be joined again");
	close(first);
	close(third);
	close(from);
}

static int replace_by(void *group)
{
	return rplb_replace(group, lab_udp(PORT), 0);
}

static void killed(struct rplb_group *group)
{
	int from = sender(0), stays = lab_udp(PORT), unused = lab_udp(PORT + 1);
	pid_t child;

	lab_need(rplb_join(group, stays, 0), "join");
	child = lab_start(replace_by, group);
	lab_ok(rplb_is_replaced(group, stays) == 1 && send(from, "x", 1, 0) == 1 && !gets(stays),
	       "another process replaces the member");
	lab_end(child);
	lab_ok(goes_to(from, stays, unused), "kill -9 of it gives the slot back");
	close(stays);
	close(unused);
	close(from);
}

static void tcp(struct rplb_group *group)
{
	int first = lab_tcp(PORT), second = lab_tcp(PORT), from, taken;
	struct sockaddr_in to = at(INADDR_LOOPBACK, PORT);

	lab_need(rplb_join(group, first, 0), "join");
	lab_error(rplb_replace(group, second, 0), 0, "a TCP listener can be replaced");
	from = socket(AF_INET, SOCK_STREAM, 0);
	lab_need(connect(from, (struct sockaddr *)&to, sizeof(to)) ? -errno : 0, "connect");
	taken = accept4(second, NULL, NULL, SOCK_NONBLOCK);
	lab_ok(taken >= 0, "the new one accepts connections");
	close(taken);
	close(from);
	close(first);
	close(second);
}

/* ---- under load */

static atomic_uint sent, received;
static atomic_bool over;
/* How often each datagram arrived, and the slot of each source, plus one. */
static unsigned char *arrivals;
static uint32_t slot_of[SOURCES];
static long misrouted;

static void *flood(void *unused)
{
	int from[SOURCES];

	(void)unused;
	for (uint32_t i = 0; i < SOURCES; i++)
		from[i] = sender(i);
	for (uint32_t i = 0; !atomic_load(&over) && i < SENT_MAX; i++) {
		uint32_t words[2] = {i, i % SOURCES};

		while (atomic_load(&sent) - atomic_load(&received) > AHEAD && !atomic_load(&over))
			;
		if (send(from[i % SOURCES], words, sizeof(words), 0) == sizeof(words))
			atomic_store(&sent, i + 1);
		else
			lab_need(-errno, "send");
	}
	for (uint32_t i = 0; i < SOURCES; i++)
		close(from[i]);
	return NULL;
}

static void drain(int fd, uint32_t slot)
{
	uint32_t words[2];

	while (recv(fd, words, sizeof(words), MSG_DONTWAIT) == sizeof(words)) {
		if (words[0] >= SENT_MAX || words[1] >= SOURCES)
			lab_need(-EBADMSG, "a datagram");
		arrivals[words[0]]++;
		misrouted += slot_of[words[1]] && slot_of[words[1]] != slot + 1;
		slot_of[words[1]] = slot + 1;
		atomic_fetch_add(&received, 1);
	}
}

static void drain_all(const int *members)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		drain(members[slot], slot);
}

static void wait_while_draining(const int *members, long nanoseconds)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		drain_all(members);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec <
		 nanoseconds);
}

static void under_load(void)
{
	struct rplb_group *group = lab_group("load", SLOTS);
	int members[SLOTS];
	pthread_t thread;
	unsigned int wrong = 0;

	arrivals = calloc(SENT_MAX, 1);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		members[slot] = lab_udp(PORT);
		lab_need(rplb_join(group, members[slot], slot), "join");
	}
	lab_need(-pthread_create(&thread, NULL, flood, NULL), "start the sender");
	wait_while_draining(members, 20000000);
	for (uint32_t i = 0; i < ROUNDS * SLOTS; i++) {
		uint32_t slot = i % SLOTS;
		int previous = members[slot];

		members[slot] = lab_udp(PORT);
		lab_need(rplb_replace(group, members[slot], slot), "replace");
		wait_while_draining(members, 1000000);
		drain(previous, slot);
		lab_need(rplb_retire_replaced(group, previous), "retire");
		drain(previous, slot);
		close(previous);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	drain_all(members);
	for (unsigned int i = 0; i < atomic_load(&sent); i++)
		wrong += arrivals[i] != 1;
	lab_ok(atomic_load(&sent) > 1000 && wrong == 0,
	       "under load no datagram is lost or duplicated while members are replaced");
	lab_ok(misrouted == 0, "and no source goes to another slot");
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		close(members[slot]);
	free(arrivals);
	rplb_group_close(group);
}

int main(void)
{
	struct rplb_group *group;

	lab_enter();
	group = lab_group("replace", 1);
	by_hand(group);
	killed(group);
	tcp(group);
	rplb_group_close(group);
	under_load();
	return lab_leave();
}
