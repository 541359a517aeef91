/* SPDX-License-Identifier: Apache-2.0 */
/* pins.c: the maps and the program of a group in its folder. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "internal.h"

#define PIN_MODE 0600
#define ROW sizeof(struct lb_reuseport_member)

#define COUNTERS sizeof(struct lb_reuseport_counters)
#define SOCKETS BPF_MAP_TYPE_REUSEPORT_SOCKARRAY

/* The types and sizes of the pins; keys have four bytes. */
static const struct {
	const char *name;
	uint32_t type;
	uint32_t value_bytes;
	uint32_t entries; /* and for each slot: */
	uint32_t per_slot;
} maps[RPLB_MAPS] = {
	[RPLB_MAP_GROUP] = {"group", BPF_MAP_TYPE_ARRAY, sizeof(struct lb_reuseport_group), 1, 0},
	[RPLB_MAP_UDP_TARGETS] = {"udp_balancing_targets", SOCKETS, sizeof(uint64_t), 0, 1},
	[RPLB_MAP_TCP_TARGETS] = {"tcp_balancing_targets", SOCKETS, sizeof(uint64_t), 0, 1},
	[RPLB_MAP_SIZE] = {"size", BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), 1, 0},
	[RPLB_MAP_NONCE] = {"nonce", BPF_MAP_TYPE_ARRAY, sizeof(uint64_t), 1, 0},
	[RPLB_MAP_SLOTS] = {"slots", BPF_MAP_TYPE_ARRAY, sizeof(struct lb_reuseport_table), 1, 0},
	[RPLB_MAP_COUNTERS] = {"counters", BPF_MAP_TYPE_PERCPU_ARRAY, COUNTERS, LB_REUSEPORT_ROWS,
			       1},
	[RPLB_MAP_UDP_MEMBERS] = {"udp_members", BPF_MAP_TYPE_ARRAY, ROW, 0, LB_PLACES},
	[RPLB_MAP_TCP_MEMBERS] = {"tcp_members", BPF_MAP_TYPE_ARRAY, ROW, 0, LB_PLACES},
	[RPLB_MAP_UDP_SECOND] = {"udp_second_place", SOCKETS, sizeof(uint64_t), 0, 1},
	[RPLB_MAP_TCP_SECOND] = {"tcp_second_place", SOCKETS, sizeof(uint64_t), 0, 1},
	[RPLB_MAP_FLOWS] = {"flows", BPF_MAP_TYPE_LRU_HASH, sizeof(uint32_t), 0, 0},
};

const char *rplb_map_name(enum rplb_map map)
{
	return maps[map].name;
}

char *rplb_pin_path(const char *root, const char *name, const char *pin)
{
	char *path;

	if (asprintf(&path, "%s/%s%s%s", root, name, pin ? "/" : "", pin ? pin : "") < 0)
		return NULL;
	return path;
}

/* The descriptor of a pinned object, or -errno. */
static int get(const char *root, const char *name, const char *pin)
{
	char *path = rplb_pin_path(root, name, pin);
	int fd;

	if (!path)
		return -ENOMEM;
	fd = bpf_obj_get(path);
	if (fd < 0)
		fd = -errno;
	free(path);
	return fd;
}

/* The owner of the pins could have renamed them. */
bool rplb_map_is_as_named(int fd, enum rplb_map map)
{
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &bytes) && info.type == maps[map].type &&
	       info.key_size == sizeof(uint32_t) && info.value_size == maps[map].value_bytes;
}

uint32_t rplb_map_entries(enum rplb_map map, const struct lb_reuseport_group *record)
{
	/* The kernel makes no empty map. */
	if (map == RPLB_MAP_FLOWS)
		return record->flows ? record->flows : 1;
	return maps[map].entries + maps[map].per_slot * record->capacity;
}

bool rplb_maps_fit(struct rplb_group *group)
{
	struct lb_reuseport_group record;

	if (rplb_record_read(group, &record) || record.capacity > LB_MEMBERS_MAX)
		return false;
	for (int i = 0; i < RPLB_MAPS; i++) {
		struct bpf_map_info info = {0};
		uint32_t bytes = sizeof(info);

		if (bpf_obj_get_info_by_fd(group->maps[i], &info, &bytes) ||
		    info.max_entries != rplb_map_entries(i, &record))
			return false;
	}
	group->capacity = record.capacity;
	return true;
}

bool rplb_map_has_name(int fd, enum rplb_map map)
{
	/* The slot table is a variable of the program, whose map libbpf calls OBJECT.bss. */
	const char *name = map == RPLB_MAP_SLOTS ? RPLB_OBJECT ".bss" : rplb_map_name(map);
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &bytes) &&
	       !strncmp(info.name, name, BPF_OBJ_NAME_LEN - 1);
}

static bool is_program(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &bytes) &&
	       info.type == BPF_PROG_TYPE_SK_REUSEPORT;
}

static int read_record(int map, struct lb_reuseport_group *record)
{
	uint32_t zero = 0;

	/* Another version's record may be longer, so check its size before reading it. */
	if (!rplb_map_is_as_named(map, RPLB_MAP_GROUP))
		return -EPROTONOSUPPORT;
	if (bpf_map_lookup_elem(map, &zero, record))
		return -errno;
	return record->abi == LB_REUSEPORT_ABI ? 0 : -EPROTONOSUPPORT;
}

int rplb_pins_read(const char *root, const char *name, int folder,
		   struct lb_reuseport_group *record)
{
	int map = get(root, name, rplb_map_name(RPLB_MAP_GROUP));
	int error;

	if (map == -ENOENT) {
		int used = rplb_folder_is_used(folder);

		return used > 0 ? -EPROTONOSUPPORT : used < 0 ? used : -ENOENT;
	}
	/* The pin is no BPF object or no map. */
	if (map < 0)
		return map == -EPERM ? -EACCES : map;
	error = read_record(map, record);
	close(map);
	return error;
}

int rplb_pins_adopt(struct rplb_group *group, const char *root)
{
	group->program = get(root, group->name, RPLB_PROGRAM_PIN);
	if (group->program < 0)
		return group->program == -ENOENT ? -EPROTONOSUPPORT : group->program;
	if (!is_program(group->program))
		return -EPROTONOSUPPORT;
	for (int i = 0; i < RPLB_MAPS; i++) {
		group->maps[i] = get(root, group->name, rplb_map_name(i));
		if (group->maps[i] < 0)
			return group->maps[i] == -ENOENT ? -EPROTONOSUPPORT : group->maps[i];
		if (!rplb_map_is_as_named(group->maps[i], i))
			return -EPROTONOSUPPORT;
	}
	return rplb_maps_fit(group) ? 0 : -EPROTONOSUPPORT;
}

static int pin(const struct rplb_group *group, const char *root, const char *as, int fd,
	       const struct rplb_options *options)
{
	char *path = rplb_pin_path(root, group->name, as);
	int error = 0;

	if (!path)
		return -ENOMEM;
	if (bpf_obj_pin(fd, path) || chmod(path, options->mode ? options->mode : PIN_MODE) ||
	    chown(path, options->owner ? options->owner : (uid_t)-1,
		  options->owner_group ? options->owner_group : (gid_t)-1))
		error = -errno;
	free(path);
	return error;
}

/* Users of the pins may list the folder. No other user may: they could hold its lock. */
static int open_folder(const struct rplb_group *group, const struct rplb_options *options)
{
	mode_t pins = options->mode ? options->mode : PIN_MODE;
	mode_t folder = S_IRWXU | (pins & S_IRWXG ? S_IRGRP | S_IXGRP : 0) |
			(pins & S_IRWXO ? S_IROTH | S_IXOTH : 0);

	if (fchmod(group->folder, folder) ||
	    fchown(group->folder, options->owner ? options->owner : (uid_t)-1,
		   options->owner_group ? options->owner_group : (gid_t)-1))
		return -errno;
	return 0;
}

int rplb_pins_create(struct rplb_group *group, const char *root, const struct rplb_options *options)
{
	struct lb_reuseport_group record;
	/* In another user's folder a pin could become a link before its owner is changed. */
	int error = rplb_folder_take(root, group->name, group->folder);

	for (int i = 0; i < RPLB_MAPS && !error; i++)
		error = pin(group, root, rplb_map_name(i), group->maps[i], options);
	if (!error)
		error = pin(group, root, RPLB_PROGRAM_PIN, group->program, options);
	if (!error)
		error = open_folder(group, options);
	if (!error)
		error = rplb_record_read(group, &record);
	if (error)
		return error;
	record.state = LB_REUSEPORT_READY;
	return rplb_record_write(group, &record);
}

/* Marks the group as half-built. */
static int mark(const char *root, const char *name)
{
	struct lb_reuseport_group record;
	uint32_t zero = 0;
	int map = get(root, name, rplb_map_name(RPLB_MAP_GROUP));
	int error;

	if (map < 0)
		return map == -ENOENT ? 0 : map;
	error = read_record(map, &record);
	record.state = LB_REUSEPORT_BUILDING;
	if (!error && bpf_map_update_elem(map, &zero, &record, BPF_ANY))
		error = -errno;
	close(map);
	return error;
}

int rplb_pins_remove(const char *root, const char *name)
{
	int error = mark(root, name);

	/* The record goes last, so that the rest of an interrupted removal is recognised as ours. */
	for (int i = RPLB_MAPS; i >= 0 && !error; i--) {
		char *path = rplb_pin_path(root, name,
					   i == RPLB_MAPS ? RPLB_PROGRAM_PIN : rplb_map_name(i));

		if (!path)
			return -ENOMEM;
		if (unlink(path) && errno != ENOENT)
			error = errno == EPERM ? -EACCES : -errno;
		free(path);
	}
	return error;
}
