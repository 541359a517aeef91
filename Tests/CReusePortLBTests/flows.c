/* SPDX-License-Identifier: Apache-2.0 */
/* flows.c: groups that remember flows, and groups with another capacity. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lab.h"

#define NAME "flows"
#define PORT 4739
#define SLOTS 4
#define SOURCES 64

static int members[RPLB_MEMBERS_MAX];

static struct rplb_group *start(struct rplb_options options, uint32_t joining)
{
	struct rplb_group *group;

	lab_need(rplb_group_open(NAME, &options, &group), "a group");
	for (uint32_t slot = 0; slot < joining; slot++) {
		members[slot] = lab_udp(PORT);
		lab_need(rplb_join(group, members[slot], slot), "join");
	}
	return group;
}

static void end(struct rplb_group *group, uint32_t joined)
{
	for (uint32_t slot = 0; slot < joined; slot++)
		close(members[slot]);
	rplb_group_close(group);
	lab_need(rplb_group_destroy(NULL, NAME), "destroy");
}

static uint32_t source(uint32_t number)
{
	return 0x7f000100u + number;
}

/* Sends a datagram from each source. Returns whether rplb_slot_of knew each member that got one. */
static bool homes(struct rplb_group *group, uint32_t first, int home[SOURCES])
{
	bool known = true;

	for (uint32_t i = 0; i < SOURCES; i++) {
		struct sockaddr_in from = {.sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(source(first + i))};
		struct rplb_member member = {0};
		uint32_t slot;

		lab_need(rplb_slot_of(group, IPPROTO_UDP, (struct sockaddr *)&from, NULL, &slot,
				      &member),
			 "a slot");
		lab_send(source(first + i), 0, PORT, "x", 1);
		home[i] = lab_arrival(members, SLOTS);
		known &= home[i] == (int)member.slot;
	}
	return known;
}

static int moved(const int before[SOURCES], const int after[SOURCES])
{
	int count = 0;

	for (int i = 0; i < SOURCES; i++)
		count += before[i] != after[i];
	return count;
}

static uint64_t missed(struct rplb_group *group)
{
	uint64_t packets = 0;

	lab_need(rplb_flows_missed(group, &packets), "the counter");
	return packets;
}

static void staying(void)
{
	struct rplb_group *group = start(RPLB_OPTIONS(.count = 2, .flows = 4096), 2);
	int first[SOURCES], now[SOURCES], late[SOURCES], on_late = 0, moves = 0;
	bool known = homes(group, 0, first);

	lab_ok(missed(group) == SOURCES, "a new flow is counted as missed");
	lab_need(rplb_resize(group, SLOTS), "resize");
	for (uint32_t slot = 2; slot < SLOTS; slot++) {
		members[slot] = lab_udp(PORT);
		lab_need(rplb_join(group, members[slot], slot), "join");
	}
	known &= homes(group, 0, now);
	lab_ok(!moved(first, now), "known flows stay with their member when the count grows");
	lab_ok(missed(group) == SOURCES, "and are not counted");
	known &= homes(group, SOURCES, late);
	for (int i = 0; i < SOURCES; i++)
		on_late += late[i] >= 2;
	lab_ok(on_late > SOURCES / 4, "new flows go by the table (%d)", on_late);

	close(members[0]);
	known &= homes(group, 0, now);
	for (int i = 0; i < SOURCES; i++)
		moves += (first[i] == 0) != (now[i] != first[i]);
	lab_ok(!moves, "a member's end moves its own flows alone");
	members[0] = lab_udp(PORT);
	lab_need(rplb_join(group, members[0], 0), "join");
	memcpy(first, now, sizeof(first));
	known &= homes(group, 0, now);
	lab_ok(!moved(first, now), "they stay with the fallback when the slot has a member again");
	lab_ok(known, "rplb_slot_of knows the member of every flow");
	end(group, SLOTS);
}

/* A table without flows moves the sources that staying() keeps. */
static void moving(void)
{
	struct rplb_group *group = start(RPLB_OPTIONS(.count = 2), SLOTS - 2);
	int first[SOURCES], now[SOURCES];

	homes(group, 0, first);
	lab_need(rplb_resize(group, SLOTS), "resize");
	for (uint32_t slot = 2; slot < SLOTS; slot++) {
		members[slot] = lab_udp(PORT);
		lab_need(rplb_join(group, members[slot], slot), "join");
	}
	homes(group, 0, now);
	lab_ok(moved(first, now) > SOURCES / 4, "without flows, sources move when the count grows");
	lab_ok(missed(group) == 0, "and no flow is counted");
	end(group, SLOTS);
}

/* The kernel keeps a per-CPU share of an LRU map, so only much more than its size is sure to push flows out. */
static void forgetting(void)
{
	struct rplb_group *group = start(RPLB_OPTIONS(.count = 1, .flows = 256), 1);
	uint64_t before;

	for (uint32_t i = 0; i < 4096; i++)
		lab_send(0x7f010000u + i, 0, PORT, "x", 1);
	lab_arrival(members, 1);
	before = missed(group);
	lab_ok(before >= 4096 - 8, "each of 4096 flows was new (%d)", (int)before);
	lab_send(0x7f010000u, 0, PORT, "x", 1);
	lab_ok(missed(group) == before + 1, "a forgotten flow is counted again");
	lab_ok(lab_arrival(members, 1) == 0, "and arrives");
	end(group, 1);
}

static int reopen(struct rplb_options options)
{
	struct rplb_group *group;
	int error = rplb_group_open(NAME, &options, &group);

	if (!error)
		rplb_group_close(group);
	return error;
}

static void refuse(void)
{
	struct rplb_group *group;
	struct rplb_info info;

	lab_error(reopen(RPLB_OPTIONS(.count = 2, .flows = RPLB_FLOWS_MAX + 1)), -EINVAL,
		  "more than a million flows are too many");
	lab_error(reopen(RPLB_OPTIONS(.count = 2, .flows = 1, .key = RPLB_KEY_ROUND_ROBIN)),
		  -EINVAL, "round robin knows no flows");
	lab_error(reopen(RPLB_OPTIONS(.count = 2, .capacity = RPLB_MEMBERS_MAX + 1)), -ERANGE,
		  "a capacity is 1024 at most");
	lab_error(reopen(RPLB_OPTIONS(.count = 5, .capacity = 4)), -ERANGE,
		  "a count is the capacity at most");
	group = start(RPLB_OPTIONS(.count = 2, .flows = 100, .capacity = 4), 0);
	lab_error(reopen(RPLB_OPTIONS(.flows = 100, .capacity = 4)), 0,
		  "the same sizes open a group again");
	lab_error(reopen(RPLB_OPTIONS(.count = 2)), 0, "so do none");
	lab_error(reopen(RPLB_OPTIONS(.flows = 101)), -ESTALE, "another number of flows does not");
	lab_error(reopen(RPLB_OPTIONS(.capacity = 128)), -ESTALE, "nor does another capacity");
	lab_error(rplb_resize(group, 5), -ERANGE, "a count stays within the capacity");
	lab_need(rplb_info(group, &info), "info");
	lab_ok(info.capacity == 4 && info.flows == 100, "the group reports its sizes");
	end(group, 0);
}

static void large(void)
{
	struct rlimit files = {2 * RPLB_MEMBERS_MAX, 2 * RPLB_MEMBERS_MAX};
	struct rplb_group *group;
	struct rplb_counters counters;
	uint64_t selected = 0;
	int first, wrong = 0;

	setrlimit(RLIMIT_NOFILE, &files);
	group = start(RPLB_OPTIONS(.count = RPLB_MEMBERS_MAX, .capacity = RPLB_MEMBERS_MAX),
		      RPLB_MEMBERS_MAX);
	for (uint32_t i = 0; i < SOURCES; i++) {
		lab_send(source(i), 0, PORT, "x", 1);
		first = lab_arrival(members, RPLB_MEMBERS_MAX);
		lab_send(source(i), 0, PORT, "x", 1);
		wrong += first < 0 || lab_arrival(members, RPLB_MEMBERS_MAX) != first;
	}
	lab_ok(!wrong, "each source has its member among 1024");
	for (uint32_t slot = 0; slot < RPLB_MEMBERS_MAX; slot++) {
		lab_need(rplb_counters(group, slot, &counters), "counters");
		selected += counters.selected;
	}
	lab_ok(selected == 2 * SOURCES, "the counters of 1024 slots add up");
	lab_error(rplb_counters(group, RPLB_MEMBERS_MAX, &counters), -ERANGE,
		  "there is no slot 1024");
	end(group, RPLB_MEMBERS_MAX);
}

int main(void)
{
	lab_enter();
	staying();
	moving();
	forgetting();
	refuse();
	large();
	return lab_leave();
}
