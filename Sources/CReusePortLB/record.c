/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: the single-value maps, and which slots are taken. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "internal.h"

static int read_value(int map, void *value)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(map, &zero, value) ? -errno : 0;
}

static int write_value(int map, const void *value)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(map, &zero, value, BPF_ANY) ? -errno : 0;
}

int rplb_record_read(const struct rplb_group *group, struct lb_reuseport_group *record)
{
	return read_value(group->maps[RPLB_MAP_GROUP], record);
}

int rplb_record_write(const struct rplb_group *group, const struct lb_reuseport_group *record)
{
	return write_value(group->maps[RPLB_MAP_GROUP], record);
}

int rplb_count_read(const struct rplb_group *group, uint32_t *count)
{
	return read_value(group->maps[RPLB_MAP_SIZE], count);
}

int rplb_seed_read(const struct rplb_group *group, uint64_t *seed)
{
	return read_value(group->maps[RPLB_MAP_NONCE], seed);
}

int rplb_count_write(const struct rplb_group *group, uint32_t count, uint32_t key)
{
	struct lb_reuseport_table *table = calloc(1, sizeof(*table));
	uint64_t seed = 0;
	int error;

	if (!table)
		return -ENOMEM;
	/* Keeps the places. */
	error = read_value(group->maps[RPLB_MAP_SLOTS], table);
	rplb_table_build(table, count, key, group->capacity);
	if (!error)
		error = rplb_seed_read(group, &seed);
	table->seed = seed;
	table->seed_v4 = lb_hash_high(seed, 0);
	if (!error)
		error = write_value(group->maps[RPLB_MAP_SLOTS], table);
	free(table);
	/* The count comes second: a process that dies in between leaves the old count, and the next process
	 * with the new count writes both again. */
	return error ? error : write_value(group->maps[RPLB_MAP_SIZE], &count);
}

static enum lb_reuseport_protocol number_of(int protocol)
{
	return protocol == IPPROTO_TCP ? LB_REUSEPORT_TCP : LB_REUSEPORT_UDP;
}

int rplb_targets(const struct rplb_group *group, int protocol, uint32_t place)
{
	static const enum rplb_map maps[LB_REUSEPORT_PROTOCOLS][LB_PLACES] = {
		[LB_REUSEPORT_UDP] = {RPLB_MAP_UDP_TARGETS, RPLB_MAP_UDP_SECOND},
		[LB_REUSEPORT_TCP] = {RPLB_MAP_TCP_TARGETS, RPLB_MAP_TCP_SECOND},
	};

	return group->maps[maps[number_of(protocol)][place]];
}

int rplb_cookie_read(const struct rplb_group *group, int protocol, uint32_t slot, uint32_t place,
		     uint64_t *cookie)
{
	return bpf_map_lookup_elem(rplb_targets(group, protocol, place), &slot, cookie) ? -errno
											: 0;
}

int rplb_places_read(const struct rplb_group *group, int protocol, uint8_t *places)
{
	struct lb_reuseport_table *table = malloc(sizeof(*table));
	int error;

	if (!table)
		return -ENOMEM;
	error = read_value(group->maps[RPLB_MAP_SLOTS], table);
	if (!error)
		memcpy(places, table->place[number_of(protocol)], LB_MEMBERS_MAX);
	free(table);
	return error;
}

int rplb_place_write(const struct rplb_group *group, int protocol, uint32_t slot, uint32_t place)
{
	struct lb_reuseport_table *table = malloc(sizeof(*table));
	int error;

	if (!table)
		return -ENOMEM;
	error = read_value(group->maps[RPLB_MAP_SLOTS], table);
	table->place[number_of(protocol)][slot] = (uint8_t)place;
	if (!error)
		error = write_value(group->maps[RPLB_MAP_SLOTS], table);
	free(table);
	return error;
}

int rplb_is_alive(const struct rplb_group *group, uint32_t first, bool *alive)
{
	static const int protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	uint64_t cookie;

	*alive = false;
	for (uint32_t slot = first; slot < group->capacity; slot++) {
		for (uint32_t i = 0; i < LB_REUSEPORT_PROTOCOLS * LB_PLACES; i++) {
			int error = rplb_cookie_read(group, protocols[i / LB_PLACES], slot,
						     i % LB_PLACES, &cookie);

			if (error && error != -ENOENT)
				return error;
			*alive |= !error;
		}
	}
	return 0;
}

int rplb_count_check(const struct rplb_group *group, uint32_t count)
{
	bool cut_off = false;
	int error;

	if (count == 0 || count > group->capacity)
		return -ERANGE;
	error = rplb_is_alive(group, count, &cut_off);
	return !error && cut_off ? -EBUSY : error;
}

int rplb_resize_locked(struct rplb_group *group, uint32_t count)
{
	struct lb_reuseport_group record;
	int error = rplb_count_check(group, count);

	if (!error)
		error = rplb_record_read(group, &record);
	if (!error)
		error = rplb_count_write(group, count, record.key);
	if (error)
		return error;
	group->wanted = 0;
	rplb_log(group, RPLB_LOG_INFO, "group %s: the count is now %u",
		 group->name ? group->name : "without a name", count);
	return 0;
}
