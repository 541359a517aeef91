/* SPDX-License-Identifier: Apache-2.0 */
/* classic.c: groups of users who may not load a program. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739
#define SOCKETS 3
#define SOURCES 60

static int fds[SOCKETS];
static char heard[512];

/* Without root's uid the process has no capability either. */
static void become(uid_t uid)
{
	if (seteuid(uid))
		lab_need(-errno, "seteuid");
}

static void hear(void *context, enum rplb_level level, const char *line)
{
	(void)context;
	if (level == RPLB_LOG_ERROR)
		snprintf(heard, sizeof(heard), "%s", line);
}

static int open_as(struct rplb_options options, struct rplb_group **group)
{
	options.log = hear;
	heard[0] = 0;
	return rplb_group_open("g", &options, group);
}

/* Which socket each source reaches; -1 if its datagrams reach several. */
static void homes(int home[SOURCES])
{
	for (uint32_t i = 0; i < SOURCES; i++) {
		home[i] = -2;
		for (int round = 0; round < 4; round++) {
			int at;

			lab_send(0x7f000100u + i, 0, PORT, "x", 1);
			at = lab_arrival(fds, SOCKETS);
			home[i] = home[i] == -2 || home[i] == at ? at : -1;
		}
	}
}

static void limits(struct rplb_group *group)
{
	struct rplb_counters counters;
	struct rplb_member member;
	uint64_t packets;
	size_t count;

	lab_error(rplb_leave(group, fds[0]), -EOPNOTSUPP, "a socket leaves when it is closed");
	lab_error(rplb_retire(group, fds[0]), -EOPNOTSUPP, "it cannot retire");
	lab_error(rplb_replace(group, fds[0], 0), -EOPNOTSUPP, "nor be replaced");
	lab_error(rplb_is_replaced(group, fds[0]), -EOPNOTSUPP, "nor know whether it is");
	lab_error(rplb_resize(group, 2), -EOPNOTSUPP, "the count is fixed");
	lab_error(rplb_counters(group, 0, &counters), -EOPNOTSUPP, "there are no counters");
	lab_error(rplb_left_to_kernel(group, &packets), -EOPNOTSUPP, "none of what is left either");
	lab_error(rplb_members(group, &member, 1, &count), -EOPNOTSUPP, "and no list of members");
	lab_ok(strstr(rplb_explain(EOPNOTSUPP), "fallback") != NULL, "the error is explained");
}

static void without_privilege(void)
{
	struct rplb_group *group = NULL, *other = NULL;
	int home[SOURCES], used[SOCKETS] = {0}, apart = 0;
	struct rplb_info info;

	lab_error(open_as(RPLB_OPTIONS(.count = SOCKETS), &group), -EPERM,
		  "without the flag, no group is created without privilege");
	lab_error(open_as(RPLB_OPTIONS(.count = SOCKETS, .flags = RPLB_FALLBACK), &group), 0,
		  "with it, there is a fallback");
	lab_ok(strstr(heard, "fallback") != NULL && strstr(heard, "EPERM") == NULL,
	       "that says so (%s)", heard);
	for (int i = 0; i < SOCKETS; i++) {
		fds[i] = lab_udp(PORT);
		lab_error(rplb_join(group, fds[i], SOCKETS), -ERANGE, "a slot is below the count");
		lab_error(rplb_join(group, fds[i], (uint32_t)i), 0, "a socket joins");
	}
	homes(home);
	for (int i = 0; i < SOURCES; i++) {
		apart += home[i] < 0;
		if (home[i] >= 0)
			used[home[i]]++;
	}
	lab_ok(!apart, "each source reaches one socket, whatever its ports (%d do not)", apart);
	lab_ok(used[0] && used[1] && used[2], "every socket has sources");
	limits(group);
	lab_error(rplb_info(group, &info), 0, "the group is described");
	lab_ok(info.is_fallback && info.count == SOCKETS && info.key == RPLB_KEY_SOURCE_IP,
	       "as a fallback");
	lab_error(open_as(RPLB_OPTIONS(.count = 2, .flags = RPLB_FALLBACK,
				       .key = RPLB_KEY_FOUR_TUPLE),
			  &other),
		  -EPERM, "there is none for another key");
	lab_error(open_as(RPLB_OPTIONS(.count = 2, .flags = RPLB_FALLBACK, .flows = 9), &other),
		  -EPERM, "nor for flows");
	rplb_group_close(group);
}

int main(void)
{
	struct rplb_group *group, *other = NULL;
	const struct rplb_options options = RPLB_OPTIONS(.count = 2, .flags = RPLB_FALLBACK);

	lab_enter();
	become(LAB_NONE);
	without_privilege();
	become(0);
	lab_need(open_as(options, &group), "open");
	lab_ok(!heard[0], "root gets the real program");
	become(LAB_NONE);
	lab_error(open_as(options, &other), -EACCES,
		  "there is no fallback beside a group of another user");
	become(0);
	rplb_group_close(group);
	chmod(RPLB_PIN_ROOT, 0700);
	become(LAB_NONE);
	lab_error(open_as(options, &group), 0,
		  "a user who may not search the root gets the fallback");
	rplb_group_close(group);
	become(0);
	return lab_leave();
}
