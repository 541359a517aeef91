/* SPDX-License-Identifier: Apache-2.0 */
/* group.c: a group from open to close. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Swift, configure and the packages read the version from the same place. */
static const char version[] =
#include "../../VERSION"
	;

const char *rplb_version(void)
{
	return version;
}

int rplb_group_lock(struct rplb_group *group, int *lock)
{
	struct lb_reuseport_group record;
	int error = rplb_check(group);

	if (error)
		return error;
	pthread_mutex_lock(&group->mutex);
	*lock = -1;
	if (group->folder < 0)
		return 0;
	error = rplb_folder_relock(group->folder, lock);
	if (!error)
		error = rplb_record_read(group, &record);
	if (!error && record.state == LB_REUSEPORT_REPLACED) {
		error = rplb_follow(group);
		if (!error)
			error = rplb_record_read(group, &record);
	}
	/* Its destroyer ended before it removed the folder. */
	if (!error && record.state != LB_REUSEPORT_READY)
		error = -ENOENT;
	if (error)
		rplb_group_unlock(group, *lock);
	return error;
}

void rplb_group_unlock(struct rplb_group *group, int lock)
{
	if (lock >= 0)
		rplb_folder_unlock(lock);
	pthread_mutex_unlock(&group->mutex);
}

static const char *root_of(const char *pin_root)
{
	return pin_root ? pin_root : RPLB_PIN_ROOT;
}

static struct rplb_group *group_new(const char *name, const struct rplb_options *options)
{
	struct rplb_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	if (name) {
		group->name = strdup(name);
		group->root = strdup(root_of(options->pin_root));
		if (!group->name || !group->root) {
			free(group->name);
			free(group->root);
			free(group);
			return NULL;
		}
	}
	pthread_mutex_init(&group->mutex, NULL);
	group->folder = group->program = -1;
	for (int i = 0; i < RPLB_MAPS; i++)
		group->maps[i] = -1;
	group->options = *options;
	group->options.pin_root = group->root;
	group->options.object = NULL;
	if (options->seed) {
		group->seed = *options->seed;
		group->options.seed = &group->seed;
	}
	return group;
}

void rplb_group_close(struct rplb_group *group)
{
	if (!group)
		return;
	for (int i = 0; i < RPLB_MAPS; i++) {
		if (group->maps[i] >= 0)
			close(group->maps[i]);
	}
	if (group->program >= 0)
		close(group->program);
	if (group->folder >= 0)
		close(group->folder);
	pthread_mutex_destroy(&group->mutex);
	free(group->name);
	free(group->root);
	free(group);
}

/* A specification has to be there with RPLB_KEY_PAYLOAD, and only then. */
static int check_payload(const struct rplb_options *options)
{
	static const struct rplb_payload_key none;
	struct lb_payload_key key = rplb_payload_of(&options->payload);

	if (options->key != RPLB_KEY_PAYLOAD)
		return memcmp(&options->payload, &none, sizeof(none)) ? -EINVAL : 0;
	if (options->payload.offset > LB_PAYLOAD_OFFSET_MAX ||
	    options->payload.length > LB_PAYLOAD_LENGTH_MAX || options->payload.skip > UINT8_MAX)
		return -EINVAL;
	return lb_payload_key_is_valid(&key) ? 0 : -EINVAL;
}

static int check_options(const char *name, const struct rplb_options *options)
{
	if (name && !rplb_name_is_valid(name))
		return -EINVAL;
	if (options->pin_root && options->pin_root[0] != '/')
		return -EINVAL;
	if (options->key > RPLB_KEY_CPU || (options->mode & ~(mode_t)0666) ||
	    (options->flags & ~(unsigned int)(RPLB_EXISTING | RPLB_MOUNT | RPLB_FALLBACK)))
		return -EINVAL;
	if (check_payload(options))
		return -EINVAL;
	/* A choice that depends on no property of the packet has no flows. */
	if (options->flows > LB_FLOWS_MAX ||
	    (options->flows && options->key && !lb_reuseport_is_hashed(options->key)))
		return -EINVAL;
	return options->count > LB_MEMBERS_MAX || options->capacity > LB_MEMBERS_MAX ? -ERANGE : 0;
}

/* Without a count a group is opened as it is. */
static bool may_create(const struct rplb_options *options)
{
	return !(options->flags & RPLB_EXISTING) && options->count;
}

static int create(struct rplb_group *group, const struct rplb_options *options)
{
	int error;

	if (!may_create(options))
		return group->name || options->flags & RPLB_EXISTING ? -ENOENT : -ERANGE;
	if (options->count > (options->capacity ? options->capacity : LB_CAPACITY))
		return -ERANGE;
	error = rplb_load(group, options);
	if (error || !group->name)
		return error;
	error = rplb_pins_create(group, group->root, options);
	if (error)
		rplb_pins_remove(group->root, group->name);
	else
		rplb_log(group, RPLB_LOG_INFO, "group %s created", group->name);
	return error;
}

/* Compares the caller's options with the group. The first join applies another count, so that a start that is
 * refused after this changes nothing. */
int rplb_group_agree(struct rplb_group *group, const struct rplb_options *options)
{
	struct lb_payload_key payload = rplb_payload_of(&options->payload);
	struct lb_reuseport_group record;
	uint64_t seed;
	uint32_t count;
	int error = rplb_record_read(group, &record);

	if (!error)
		error = rplb_seed_read(group, &seed);
	if (!error)
		error = rplb_count_read(group, &count);
	if (error)
		return error;
	if ((options->key &&
	     (options->key != record.key || memcmp(&payload, &record.payload, sizeof(payload)))) ||
	    (options->seed && *options->seed != seed) ||
	    (options->capacity && options->capacity != record.capacity) ||
	    (options->flows && options->flows != record.flows))
		return -ESTALE;
	if (!options->count || options->count == count)
		return 0;
	error = rplb_count_check(group, options->count);
	if (!error)
		group->wanted = options->count;
	return error;
}

/* The caller holds the folder's lock. */
static int adopt_or_create(struct rplb_group *group, const struct rplb_options *options)
{
	const char *root = group->root;
	struct lb_reuseport_group record;
	int error = rplb_pins_read(root, group->name, group->folder, &record);

	if (error == -ENOENT)
		return create(group, options);
	if (error)
		return error;
	if (record.state == LB_REUSEPORT_READY) {
		error = rplb_pins_adopt(group, root);
		return error ? error : rplb_group_agree(group, options);
	}
	if (!may_create(options))
		return -ENOENT;
	rplb_log(group, RPLB_LOG_INFO, "group %s was left half-built; building it anew",
		 group->name);
	error = rplb_pins_remove(root, group->name);
	return error ? error : create(group, options);
}

static int open_pinned(struct rplb_group *group, const struct rplb_options *options)
{
	const char *root = group->root;
	int lock, error;

	error = rplb_root_check(root, options->flags);
	if (!error)
		error = rplb_folder_lock(root, group->name, may_create(options), &lock);
	if (error)
		return error;
	/* Opened, not duplicated: a lock belongs to all duplicates. */
	group->folder = openat(lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group->folder < 0)
		error = -errno;
	if (!error)
		error = adopt_or_create(group, options);
	if (error && may_create(options) && rplb_folder_is_used(lock) == 0)
		rplb_folder_remove(root, group->name);
	rplb_folder_unlock(lock);
	return error;
}

/* Copies options of any version: -EINVAL if they are shorter than any, -E2BIG if they have an unknown member. */
static int read_options(const struct rplb_options *given, struct rplb_options *options)
{
	const unsigned char *bytes = (const unsigned char *)given;

	memset(options, 0, sizeof(*options));
	if (!given)
		return 0;
	if (given->size < offsetof(struct rplb_options, log_context) + sizeof(void *))
		return -EINVAL;
	for (size_t i = sizeof(*options); i < given->size; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memcpy(options, given, given->size < sizeof(*options) ? given->size : sizeof(*options));
	return 0;
}

int rplb_group_open(const char *name, const struct rplb_options *given, struct rplb_group **out)
{
	struct rplb_options copy, *options = &copy;
	struct rplb_group *group;
	int error;

	if (!out)
		return -EINVAL;
	error = read_options(given, options);
	if (!error)
		error = check_options(name, options);
	if (error)
		return error;
	group = group_new(name, options);
	if (!group)
		return -ENOMEM;
	error = name ? open_pinned(group, options) : create(group, options);
	if (error && rplb_classic_suits(options, error)) {
		group->is_classic = true;
		group->capacity = options->count;
		rplb_log(group, RPLB_LOG_ERROR,
			 "group %s: fallback to a classic program, since the BPF program cannot be "
			 "loaded "
			 "(%s): it chooses by source address among the sockets in the order of "
			 "binding; a "
			 "source moves when a member ends, and there are no slots, counters or "
			 "fallback "
			 "members",
			 name ? name : "without a name", strerror(-error));
		error = 0;
	}
	if (error) {
		rplb_group_close(group);
		return error;
	}
	*out = group;
	return 0;
}

int rplb_resize(struct rplb_group *group, uint32_t count)
{
	int lock, error;

	if (!group)
		return -EINVAL;
	error = rplb_group_lock(group, &lock);
	if (error)
		return error;
	error = rplb_resize_locked(group, count);
	rplb_group_unlock(group, lock);
	return error;
}

/* Adopts the pins of a live group, so that its members can be listed. */
static int check_abandoned(const char *root, const char *name)
{
	struct rplb_group *group = group_new(name, &RPLB_OPTIONS(.pin_root = root));
	bool alive = false;
	int error;

	if (!group)
		return -ENOMEM;
	error = rplb_pins_adopt(group, root);
	if (!error)
		error = rplb_is_alive(group, 0, &alive);
	rplb_group_close(group);
	return error ? error : alive ? -EBUSY : 0;
}

int rplb_group_destroy(const char *pin_root, const char *name)
{
	const char *root = root_of(pin_root);
	struct lb_reuseport_group record;
	int lock, error;

	if (!name || !rplb_name_is_valid(name) || root[0] != '/')
		return -EINVAL;
	error = rplb_root_check(root, 0);
	if (!error)
		error = rplb_folder_lock(root, name, false, &lock);
	if (error)
		return error;
	error = rplb_pins_read(root, name, lock, &record);
	if (!error && record.state == LB_REUSEPORT_READY)
		error = check_abandoned(root, name);
	/* A caller that may not remove the folder must not remove its content. */
	if (!error && faccessat(AT_FDCWD, root, W_OK, AT_EACCESS))
		error = -errno;
	if (!error)
		error = rplb_pins_remove(root, name);
	if (!error || error == -ENOENT)
		error = rplb_folder_remove(root, name);
	rplb_folder_unlock(lock);
	return error;
}
