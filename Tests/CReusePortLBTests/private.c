/* SPDX-License-Identifier: Apache-2.0 */
/* private.c: a group without a name exists only in its process. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

static int entries(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	if (!folder)
		lab_need(-errno, path);
	for (struct dirent *entry; (entry = readdir(folder));)
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(folder);
	return count;
}

static int lines;

static void hear(void *context, enum rplb_level level, const char *line)
{
	(void)level;
	lines += context == &lines && !strchr(line, '\n');
}

/* Bytes that are no program: libbpf's messages go to the caller. */
static void object(void)
{
	static const char bytes[] = "this is no ELF file";
	struct rplb_options options =
		RPLB_OPTIONS(.count = 1, .object = bytes, .object_bytes = sizeof(bytes),
			     .log = hear, .log_context = &lines);
	struct rplb_group *group = (void *)0x5a5a;
	int error = rplb_group_open(NULL, &options, &group);

	lab_ok(error < 0 && group == (void *)0x5a5a, "bytes that are no program are refused");
	lab_ok(lines > 0, "the log says why, line by line");
}

int main(void)
{
	struct rplb_group *first, *second;
	struct rplb_options options = RPLB_OPTIONS(.count = 2, .pin_root = LAB_PLAIN_ROOT);
	size_t found = 0;
	int fd, before, pins;

	lab_enter();
	before = entries("/proc/self/fd");
	/* The kernel may have put pins of its own there (kernel/bpf/preload). */
	pins = entries(RPLB_PIN_ROOT);
	lab_error(rplb_group_open(NULL, &options, &first), 0, "a private group needs no pin root");
	lab_error(rplb_group_open(NULL, &options, &second), 0, "there may be several");
	fd = lab_udp(4739);
	lab_error(rplb_join(first, fd, 0), 0, "a private group is joined like another");
	lab_need(rplb_members(second, NULL, 0, &found), "members");
	lab_ok(found == 0, "its members are not those of another");
	lab_error(rplb_group_open(NULL, &RPLB_OPTIONS(.flags = RPLB_EXISTING), &first), -ENOENT,
		  "there is no private group to open again");
	lab_ok(entries(RPLB_PIN_ROOT) == pins, "nothing is pinned");
	lab_error(rplb_leave(first, fd), 0, "a private group is left like another");
	close(fd);
	rplb_group_close(first);
	rplb_group_close(second);
	object();
	lab_ok(entries("/proc/self/fd") == before, "every descriptor is closed at the end");
	return lab_leave();
}
