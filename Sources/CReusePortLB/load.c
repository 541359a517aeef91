/* SPDX-License-Identifier: Apache-2.0 */
/* load.c: from the ELF object to a program in the kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

#ifdef RPLB_EMBEDDED
extern const unsigned char rplb_object[];
extern const size_t rplb_object_bytes;
#endif

/* Descriptors that libbpf and the library have open at a time: the maps twice, the programs, and probes. */
#define DESCRIPTORS (2 * RPLB_MAPS + 14)

/* The programs of the object, in the order in which they are tried: lb_migrate also moves TCP connections
 * (Linux 5.14). */
static const char *const programs[] = {"lb_migrate", "lb_select"};

/* A map of the object. The slot table is a variable of the program, whose map libbpf calls .bss. */
static struct bpf_map *find_map(struct bpf_object *object, enum rplb_map map)
{
	return bpf_object__find_map_by_name(object,
					    map == RPLB_MAP_SLOTS ? ".bss" : rplb_map_name(map));
}

/* Gives the program its constants, and the maps their sizes. */
static int set_sizes(struct bpf_object *object, const struct lb_reuseport_group *record)
{
	struct lb_reuseport_constants constants = {
		.key = record->key,
		.capacity = record->capacity,
		.slots = lb_reuseport_slots(record->capacity),
		.flows = record->flows,
		.payload = record->payload,
	};
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	int error;

	if (!map || bpf_map__value_size(map) != sizeof(constants))
		return -ENOEXEC;
	error = bpf_map__set_initial_value(map, &constants, sizeof(constants));
	for (int i = 0; i < RPLB_MAPS && !error; i++) {
		map = find_map(object, i);
		error = map ? bpf_map__set_max_entries(map, rplb_map_entries(i, record)) : -ENOEXEC;
	}
	return error;
}

static int open_object(const struct rplb_options *options, const char *wanted,
		       const struct lb_reuseport_group *record, struct bpf_object **out)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = RPLB_OBJECT);
	const void *bytes = options->object;
	size_t count = options->object_bytes;
	struct bpf_object *object;
	struct bpf_program *program;
	bool found = false;
	int error;

#ifdef RPLB_EMBEDDED
	if (!bytes) {
		bytes = rplb_object;
		count = rplb_object_bytes;
	}
#endif
	if (!bytes || !count)
		return -EINVAL;
	object = bpf_object__open_mem(bytes, count, &open_options);
	if (!object)
		return errno == ENOMEM ? -ENOMEM : -ENOEXEC;
	bpf_object__for_each_program(program, object)
	{
		bool same = !strcmp(bpf_program__name(program), wanted);

		found |= same;
		bpf_program__set_autoload(program, same);
	}
	error = found ? set_sizes(object, record) : -ENOEXEC;
	if (error) {
		bpf_object__close(object);
		return error;
	}
	*out = object;
	return 0;
}

/* Descriptors that outlive the object. */
static int keep_descriptors(struct rplb_group *group, struct bpf_object *object, const char *wanted)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, wanted);

	group->program = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 3);
	if (group->program < 0)
		return -errno;
	for (int i = 0; i < RPLB_MAPS; i++) {
		group->maps[i] = fcntl(bpf_map__fd(find_map(object, i)), F_DUPFD_CLOEXEC, 3);
		if (group->maps[i] < 0)
			return -errno;
		/* So that a group without pins can be found by its program (rejoin.c). Linux 5.10; an older
		 * kernel keeps only the maps that the program uses. */
		bpf_prog_bind_map(group->program, group->maps[i], NULL);
	}
	return 0;
}

/* libbpf probes kernel features, and takes a lack of descriptors for a missing feature for the rest of the
 * process. So check the descriptors first. */
static int check_descriptors(void)
{
	int fds[DESCRIPTORS], count = 0, error = 0;

	while (count < DESCRIPTORS && !error) {
		fds[count] = open("/", O_PATH | O_CLOEXEC);
		if (fds[count] < 0)
			error = -errno;
		else
			count++;
	}
	while (count > 0)
		close(fds[--count]);
	return error;
}

static bool is_scarcity(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* What an error of the load means to the caller; `error` is that of the last program tried. */
static int explain_load(int error)
{
	if (error == -EPERM || is_scarcity(error))
		return error;
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SK_REUSEPORT, NULL) == 0)
		return -EOPNOTSUPP;
	return -ENOEXEC;
}

static int load_object(struct rplb_group *group, const struct rplb_options *options,
		       const struct lb_reuseport_group *record)
{
	struct bpf_object *object;
	bool loaded;
	int error = check_descriptors();

	if (error)
		return error;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		error = open_object(options, programs[i], record, &object);
		if (error)
			return error;
		error = bpf_object__load(object);
		loaded = !error;
		if (loaded)
			error = keep_descriptors(group, object, programs[i]);
		else if (error != -EPERM && i + 1 == sizeof(programs) / sizeof(*programs))
			error = explain_load(error);
		bpf_object__close(object);
		if (loaded || error == -EPERM || is_scarcity(error))
			break;
		rplb_log(group, RPLB_LOG_INFO, "the kernel does not take %s: %s", programs[i],
			 strerror(-error));
	}
	return error;
}

int rplb_load(struct rplb_group *group, const struct rplb_options *options)
{
	struct lb_reuseport_group record = {
		.abi = LB_REUSEPORT_ABI,
		.state = group->name ? LB_REUSEPORT_BUILDING : LB_REUSEPORT_PRIVATE,
		.key = options->key ? options->key : LB_REUSEPORT_SOURCE_IP,
		.payload = rplb_payload_of(&options->payload),
		.capacity = options->capacity ? options->capacity : LB_CAPACITY,
		.flows = options->flows,
	};
	uint64_t seed = options->seed ? *options->seed : 0;
	uint32_t zero = 0;
	int error;

	rplb_hook_libbpf(group);
	error = load_object(group, options, &record);
	rplb_unhook_libbpf();
	group->capacity = record.capacity;
	if (!error && bpf_map_update_elem(group->maps[RPLB_MAP_NONCE], &zero, &seed, BPF_ANY))
		error = -errno;
	if (!error)
		error = rplb_count_write(group, options->count, record.key);
	if (!error)
		error = rplb_record_write(group, &record);
	return error;
}
