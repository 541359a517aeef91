/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rejoin.c: finds the group whose pins were removed while its members live. A new group of that name would
 * attach another program to the members' port and take every packet.
 *
 * A program keeps its maps (load.c binds those that it does not use), so the record of such a group can be
 * read through the program. Finding the program needs CAP_SYS_ADMIN.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "internal.h"

#ifndef SO_DETACH_REUSEPORT_BPF
#define SO_DETACH_REUSEPORT_BPF 68
#endif

/* The maps of the program are those of the group, `turns` and the constants. */
#define PROGRAM_MAPS 16

static void close_all(struct rplb_group *group)
{
	for (int i = 0; i < RPLB_MAPS; i++) {
		if (group->maps[i] >= 0)
			close(group->maps[i]);
		group->maps[i] = -1;
	}
	if (group->program >= 0)
		close(group->program);
	group->program = -1;
}

/* Keeps the map if the group still lacks it. */
static void keep_map(struct rplb_group *living, int fd)
{
	for (int i = 0; i < RPLB_MAPS; i++) {
		if (living->maps[i] < 0 && rplb_map_has_name(fd, i) &&
		    rplb_map_is_as_named(fd, i)) {
			living->maps[i] = fd;
			return;
		}
	}
	close(fd);
}

/* Opens the maps of living->program; false when it is not the program of a group. */
static bool open_maps(struct rplb_group *living)
{
	uint32_t ids[PROGRAM_MAPS] = {0}; /* valgrind does not know that the kernel writes there */
	struct bpf_prog_info info = {.nr_map_ids = PROGRAM_MAPS,
				     .map_ids = (uint64_t)(uintptr_t)ids};
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(living->program, &info, &bytes) ||
	    info.type != BPF_PROG_TYPE_SK_REUSEPORT || info.nr_map_ids > PROGRAM_MAPS)
		return false;
	for (uint32_t i = 0; i < info.nr_map_ids; i++) {
		int fd = bpf_map_get_fd_by_id(ids[i]);

		if (fd >= 0)
			keep_map(living, fd);
	}
	for (int i = 0; i < RPLB_MAPS; i++) {
		if (living->maps[i] < 0)
			return false;
	}
	return rplb_maps_fit(living);
}

/* Whether this group has live members at the socket's address. Without the cookie of the network namespace
 * (Linux 5.14) equal addresses in two namespaces cannot be distinguished. */
static bool lives_at(const struct rplb_group *living, const struct rplb_socket *socket)
{
	struct lb_reuseport_group record;
	bool alive = false;

	return !rplb_record_read(living, &record) && record.abi == LB_REUSEPORT_ABI &&
	       record.state != LB_REUSEPORT_PRIVATE && record.netns && socket->netns &&
	       rplb_socket_is_at(socket, &record) && !rplb_is_alive(living, 0, &alive) && alive;
}

/* Opens the live group at the socket's address. -ENOENT: there is none; -EPERM: this process may not look for
 * it. */
static int find(struct rplb_group *living, const struct rplb_socket *socket)
{
	uint32_t id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		living->program = bpf_prog_get_fd_by_id(id);
		if (living->program < 0 && errno == EPERM)
			return -EPERM;
		if (living->program >= 0 && open_maps(living) && lives_at(living, socket))
			return 0;
		close_all(living);
	}
	return -errno;
}

static uint32_t id_of(int program)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	return program < 0 || bpf_obj_get_info_by_fd(program, &info, &bytes) ? 0 : info.id;
}

/* Whether the program is pinned as that of the group `name`. */
static bool is_pinned_as(const char *root, const char *name, uint32_t id)
{
	char *path = rplb_pin_path(root, name, RPLB_PROGRAM_PIN);
	int fd = path ? bpf_obj_get(path) : -1;
	bool same = id && id_of(fd) == id;

	if (fd >= 0)
		close(fd);
	free(path);
	return same;
}

/* Logs the other name under which the live group is pinned, if any: then it has not lost its pins, and two
 * groups have one address. */
static bool is_another(const struct rplb_group *group, uint32_t id)
{
	DIR *entries = opendir(group->root);
	struct dirent *entry;
	bool found = false;

	while (entries && !found && (entry = readdir(entries))) {
		if (!strchr(entry->d_name, '.') && is_pinned_as(group->root, entry->d_name, id)) {
			rplb_log(group, RPLB_LOG_ERROR,
				 "group %s takes the packets of group %s, which has members at the "
				 "same "
				 "address; give both one name, or each an address of its own",
				 group->name, entry->d_name);
			found = true;
		}
	}
	if (entries)
		closedir(entries);
	return found;
}

/* Turns the group into the other one, if it matches the caller's options. The descriptors keep their numbers,
 * because another thread may be reading a report. */
static int become(struct rplb_group *group, struct rplb_group *other)
{
	int error = rplb_group_agree(other, &group->options);

	if (!error && dup3(other->program, group->program, O_CLOEXEC) < 0)
		error = -errno;
	for (int i = 0; i < RPLB_MAPS && !error; i++) {
		if (dup3(other->maps[i], group->maps[i], O_CLOEXEC) < 0)
			error = -errno;
	}
	if (!error) {
		group->wanted = other->wanted;
		group->capacity = other->capacity;
	}
	return error;
}

static int set_state(const struct rplb_group *group, enum lb_reuseport_state state)
{
	struct lb_reuseport_group record;
	int error = rplb_record_read(group, &record);

	record.state = state;
	return error ? error : rplb_record_write(group, &record);
}

/* Pins the live group in place of the one created under its name. When this is interrupted, the folder has a
 * half-built group, which the next process builds anew and replaces again. */
static int replace(struct rplb_group *group, struct rplb_group *living)
{
	struct rplb_group created = {0};
	int error = 0;

	created.maps[RPLB_MAP_GROUP] = fcntl(group->maps[RPLB_MAP_GROUP], F_DUPFD_CLOEXEC, 3);
	if (created.maps[RPLB_MAP_GROUP] < 0)
		return -errno;
	error = rplb_pins_remove(group->root, group->name);
	if (!error) {
		error = become(group, living);
		/* A refused start leaves no second group. */
		if (error)
			rplb_folder_remove(group->root, group->name);
	}
	if (!error)
		error = set_state(group, LB_REUSEPORT_BUILDING);
	if (!error)
		error = rplb_pins_create(group, group->root, &group->options);
	/* Processes that have the created group open switch too. */
	if (!error)
		error = set_state(&created, LB_REUSEPORT_REPLACED);
	if (!error)
		rplb_log(group, RPLB_LOG_ERROR,
			 "the pins of group %s were removed while its members live; pinned the "
			 "living "
			 "group again",
			 group->name);
	close(created.maps[RPLB_MAP_GROUP]);
	return error;
}

int rplb_rejoin(struct rplb_group *group, const struct rplb_socket *socket)
{
	struct rplb_group living = {.program = -1};
	struct lb_reuseport_group record;
	int error = rplb_record_read(group, &record);

	/* Only a group that has never had a member can be a second one. */
	if (error || !group->name || record.family)
		return error;
	memset(living.maps, -1, sizeof(living.maps));
	error = find(&living, socket);
	group->is_unsure = error == -EPERM;
	if (error)
		return error == -ENOENT || error == -EPERM ? 0 : error;
	if (!is_another(group, id_of(living.program)))
		error = replace(group, &living);
	close_all(&living);
	return error;
}

int rplb_follow(struct rplb_group *group)
{
	struct rplb_group pinned = {.name = group->name, .program = -1};
	int error;

	memset(pinned.maps, -1, sizeof(pinned.maps));
	error = rplb_pins_adopt(&pinned, group->root);
	if (!error)
		error = become(group, &pinned);
	close_all(&pinned);
	return error;
}

void rplb_warn_of_another(struct rplb_group *group, int fd)
{
	int unused = 0;

	if (group->is_unsure &&
	    !setsockopt(fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &unused, sizeof(unused)))
		rplb_log(
			group, RPLB_LOG_ERROR,
			"group %s is new and takes every packet of a port that another program "
			"steered; "
			"if its pins were removed while its members live, start them all again, or "
			"this one with CAP_SYS_ADMIN, which finds the living group",
			group->name);
	group->is_unsure = false;
}
