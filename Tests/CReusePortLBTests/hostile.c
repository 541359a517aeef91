/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c: the owner of a group's pins, or a user who may write to the pin root, gains no privilege. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

#define DIR_OF_THEIRS RPLB_PIN_ROOT "/theirs"
/* A folder that belongs to root, in the lab. */
#define VICTIM LAB_PLAIN_ROOT "/victim"

static int open_in(const char *root, const char *name, unsigned int flags)
{
	struct rplb_options options = RPLB_OPTIONS(.count = 2, .pin_root = root, .flags = flags);
	struct rplb_group *group = NULL;
	int error = rplb_group_open(name, &options, &group);

	rplb_group_close(group);
	return error;
}

static void symlinks(void)
{
	struct stat before, after;

	if (symlink("/nowhere", LAB_OPEN_ROOT "/dangling") || mkdir(LAB_OPEN_ROOT "/empty", 0755) ||
	    symlink(LAB_OPEN_ROOT "/empty", LAB_OPEN_ROOT "/led") ||
	    stat(LAB_OPEN_ROOT "/empty", &before))
		lab_need(-errno, "symlinks");
	lab_error(open_in(LAB_OPEN_ROOT, "dangling", 0), -EPROTONOSUPPORT,
		  "a symbolic link to nowhere is no group");
	lab_error(open_in(LAB_OPEN_ROOT, "led", 0), -EPROTONOSUPPORT,
		  "a symbolic link to a folder is no group");
	lab_error(rplb_group_destroy(LAB_OPEN_ROOT, "led"), -EPROTONOSUPPORT,
		  "nor is it destroyed");
	lab_ok(!stat(LAB_OPEN_ROOT "/empty", &after) && after.st_mode == before.st_mode,
	       "the folder that it leads to is as it was");
	lab_error(open_in(LAB_OPEN_ROOT, "empty", RPLB_EXISTING), -ENOENT,
		  "an empty folder is no group");
	lab_ok(!access(LAB_OPEN_ROOT "/empty", F_OK), "and opening does not remove it");
}

/* The owner of the pins renames a map to one with longer values. */
static void swapped(void)
{
	static const char *const names[] = {"udp_balancing_targets",
					    "tcp_balancing_targets",
					    "size",
					    "nonce",
					    "slots",
					    "counters",
					    "udp_members",
					    "tcp_members",
					    "program"};
	int refused = 0, other = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *by = i == 4 ? "nonce" : "slots";
		char from[128], to[128];
		int error;

		rplb_group_close(lab_group("swapped", 2));
		snprintf(from, sizeof(from), RPLB_PIN_ROOT "/swapped/%s", by);
		snprintf(to, sizeof(to), RPLB_PIN_ROOT "/swapped/%s", names[i]);
		if (rename(to, RPLB_PIN_ROOT "/swapped/kept") || link(from, to))
			lab_need(-errno, "rename");
		error = open_in(NULL, "swapped", RPLB_EXISTING);
		refused += error == -EPROTONOSUPPORT;
		if (error != -EPROTONOSUPPORT)
			other = error;
		if (unlink(to) || rename(RPLB_PIN_ROOT "/swapped/kept", to))
			lab_need(-errno, "rename");
		lab_need(rplb_group_destroy(NULL, "swapped"), "destroy");
	}
	lab_ok(refused == 9, "a group with a renamed pin is foreign (%d of 9, %d)", refused, other);
}

static int replace_pin(void *path)
{
	if (syscall(SYS_unlinkat, AT_FDCWD, path, 0) || symlink(VICTIM, path))
		return -errno;
	return 0;
}

static bool armed;
static int replaced;

/* Replaces chmod for the library. In another user's folder the pin could become a link just before it. */
int chmod(const char *path, mode_t mode)
{
	if (armed) {
		armed = false;
		replaced = lab_as(LAB_NONE, replace_pin, (void *)path);
	}
	return (int)syscall(SYS_fchmodat, AT_FDCWD, path, mode);
}

static void links_in_time(void)
{
	struct rplb_options theirs = RPLB_OPTIONS(.count = 2, .owner = LAB_NONE);
	struct rplb_group *group = NULL;
	struct stat status;

	if (mkdir(VICTIM, 0700) || mkdir(DIR_OF_THEIRS, 0700) ||
	    chown(DIR_OF_THEIRS, LAB_NONE, (gid_t)-1))
		lab_need(-errno, "a folder of theirs");
	armed = true;
	lab_error(rplb_group_open("theirs", &theirs, &group), 0,
		  "root builds a group in another user's folder");
	rplb_group_close(group);
	lab_error(replaced, -EACCES, "whose owner cannot replace a pin by a link meanwhile");
	lab_ok(!stat(VICTIM, &status) && status.st_uid == 0, "so no other file changes its owner");
	lab_ok(!stat(DIR_OF_THEIRS, &status) && status.st_uid == LAB_NONE,
	       "in the end the folder belongs to that user");
}

static int destroy_it(void *name)
{
	return rplb_group_destroy(NULL, name);
}

static void half_destroyed(void)
{
	lab_error(lab_as(LAB_NONE, destroy_it, "theirs"), -EACCES,
		  "an owner who may not remove the folder does not destroy the group");
	lab_error(open_in(NULL, "theirs", RPLB_EXISTING), 0, "nor half of it");
}

int main(void)
{
	lab_enter();
	symlinks();
	swapped();
	links_in_time();
	half_destroyed();
	return lab_leave();
}
