/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: rplb_group_open refuses invalid arguments, and creates, opens and resizes groups. */
#include <errno.h>
#include <string.h>

#include "lab.h"

/* A value that a failed call must not overwrite. */
static struct rplb_group *const untouched = (struct rplb_group *)0x5a5a;

static void refuse(int want, const char *name, struct rplb_options options, const char *sentence)
{
	struct rplb_group *group = untouched;
	int error = rplb_group_open(name, &options, &group);

	if (!error)
		rplb_group_close(group);
	lab_error(error, want, "%s", sentence);
	if (error && group != untouched)
		lab_ok(false, "the group is left alone when it is not opened: %s", sentence);
}

static void malformed(void)
{
	static const char letters[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; /* 65 */
	struct rplb_options good = RPLB_OPTIONS(.count = 2);
	struct rplb_group *group = NULL;

	refuse(-EINVAL, "", good, "a name has a character");
	refuse(-EINVAL, "a/b", good, "a name has no slash");
	refuse(-EINVAL, "..", good, "a name has no dot");
	refuse(-EINVAL, letters, good, "a name of 65 characters is too long");
	lab_error(rplb_group_open(letters + 1, &good, &group), 0, "a name of 64 characters fits");
	rplb_group_close(group);
	lab_error(rplb_group_open("g", &good, NULL), -EINVAL,
		  "the pointer for the group is required");

	refuse(-EINVAL, "g", RPLB_OPTIONS(.count = 2, .pin_root = "sys/fs/bpf"),
	       "a pin root is absolute");
	refuse(-EINVAL, "g", RPLB_OPTIONS(.count = 2, .pin_root = ""), "a pin root is not empty");
	refuse(-EINVAL, "g", RPLB_OPTIONS(.count = 2, .key = RPLB_KEY_RANDOM + 1),
	       "a key is one of the four");
	refuse(-EINVAL, "g", RPLB_OPTIONS(.count = 2, .flags = 1u << 31),
	       "an unknown flag is refused");
	refuse(-EINVAL, "g", RPLB_OPTIONS(.count = 2, .mode = 01600),
	       "a mode is made of read and write permissions");
	refuse(-ENOENT, "g", RPLB_OPTIONS(.count = 0), "without a count no group is created");
	refuse(-ERANGE, "g", RPLB_OPTIONS(.count = RPLB_CAPACITY + 1),
	       "a count is the capacity at most");
	lab_error(rplb_group_open("full", &RPLB_OPTIONS(.count = RPLB_CAPACITY), &group), 0,
		  "a count may be 128");
	rplb_group_close(group);
	lab_error(rplb_group_open("g", NULL, &group), -ENOENT, "nor without options");
	lab_error(rplb_group_destroy(NULL, "g"), -ENOENT, "and no folder is left behind");
	refuse(-ERANGE, NULL, RPLB_OPTIONS(.count = 0), "a private group has a count");
}

static void sizes(void)
{
	struct {
		struct rplb_options known;
		uint64_t later;
	} newer = {.known = RPLB_OPTIONS(.count = 2)};
	struct rplb_options shorter = newer.known;
	struct rplb_group *group = NULL;

	shorter.size = 0;
	refuse(-EINVAL, "g", shorter, "options name their size");
	newer.known.size = sizeof(newer);
	lab_error(rplb_group_open("newer", &newer.known, &group), 0,
		  "options of a newer version are accepted when they ask for nothing new");
	rplb_group_close(group);
	newer.later = 1;
	lab_error(rplb_group_open("newer", &newer.known, &group), -E2BIG,
		  "and refused when they do");
}

static void roots(void)
{
	struct rplb_group *group = NULL;

	refuse(-ENODEV, "g", RPLB_OPTIONS(.count = 2, .pin_root = LAB_PLAIN_ROOT),
	       "a folder on another file system is no pin root");
	refuse(-ENODEV, "g", RPLB_OPTIONS(.count = 2, .pin_root = "/sys/fs/absent"),
	       "a missing folder is no pin root");
	refuse(-ENOENT, "absent", RPLB_OPTIONS(.flags = RPLB_EXISTING),
	       "a group that must exist is not created");
	lab_error(rplb_group_destroy(NULL, "absent"), -ENOENT, "nor was a folder left behind");
	refuse(-ENODEV, "g",
	       RPLB_OPTIONS(.count = 2, .pin_root = LAB_PLAIN_ROOT, .flags = RPLB_EXISTING),
	       "an existing group is not searched on another file system");

	lab_error(rplb_group_open("mounted",
				  &RPLB_OPTIONS(.count = 2, .pin_root = LAB_PLAIN_ROOT,
						.flags = RPLB_MOUNT),
				  &group),
		  0, "RPLB_MOUNT mounts a BPF file system");
	rplb_group_close(group);
	lab_error(rplb_group_destroy(LAB_PLAIN_ROOT, "mounted"), 0, "the group was pinned there");
}

static void agreement(void)
{
	uint64_t seed = 7, other = 8;
	struct rplb_options options =
		RPLB_OPTIONS(.count = 3, .key = RPLB_KEY_FOUR_TUPLE, .seed = &seed);
	struct rplb_group *group = NULL, *again = NULL;
	struct rplb_info info;

	lab_need(rplb_group_open("agreed", &options, &group), "a group");
	lab_need(rplb_info(group, &info), "its description");
	lab_ok(info.count == 3 && info.key == RPLB_KEY_FOUR_TUPLE && info.seed == 7,
	       "a new group has the requested settings");
	lab_ok(info.address.ss_family == 0, "a new group has no address");
	refuse(-ESTALE, "agreed", RPLB_OPTIONS(.count = 3, .key = RPLB_KEY_SOURCE_IP),
	       "a group keeps its key");
	refuse(-ESTALE, "agreed", RPLB_OPTIONS(.count = 3, .seed = &other),
	       "a group keeps its seed");
	lab_error(rplb_group_open("agreed", NULL, &again), 0,
		  "without options a group keeps its settings");
	rplb_group_close(again);
	lab_error(rplb_group_open("agreed", &RPLB_OPTIONS(.count = 4), &again), 0,
		  "a group may be opened with another count");
	lab_need(rplb_info(again, &info), "its description");
	lab_ok(info.count == 3, "and keeps its own until a socket joins");
	rplb_group_close(again);
	rplb_group_close(group);
	rplb_group_close(NULL);
}

static void defaults(void)
{
	struct rplb_group *group = lab_group("plain", 1);
	struct rplb_info info;

	lab_need(rplb_info(group, &info), "its description");
	lab_ok(info.key == RPLB_KEY_SOURCE_IP && info.seed == 0 && info.count == 1,
	       "a new group has the key source IP and the seed 0");
	rplb_group_close(group);
}

int main(void)
{
	lab_enter();
	malformed();
	sizes();
	roots();
	agreement();
	defaults();
	return lab_leave();
}
