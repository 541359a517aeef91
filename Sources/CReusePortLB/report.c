/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: settings, counters and members of a group. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "internal.h"

/* Sums a row over the CPUs. */
static int read_row(const struct rplb_group *group, uint32_t row, struct lb_reuseport_counters *sum)
{
	int cpus = libbpf_num_possible_cpus();
	struct lb_reuseport_counters *values;
	int error = 0;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	if (bpf_map_lookup_elem(group->maps[RPLB_MAP_COUNTERS], &row, values))
		error = -errno;
	for (int cpu = 0; cpu < cpus && !error; cpu++) {
		sum->selected += values[cpu].selected;
		sum->fallback += values[cpu].fallback;
		sum->missed += values[cpu].missed;
	}
	free(values);
	return error;
}

int rplb_counters(struct rplb_group *group, uint32_t slot, struct rplb_counters *counters)
{
	struct lb_reuseport_counters sum = {0};
	int error;

	if (!counters || rplb_check(group))
		return counters ? rplb_check(group) : -EINVAL;
	if (slot >= group->capacity)
		return -ERANGE;
	error = read_row(group, slot, &sum);
	if (error)
		return error;
	counters->selected = sum.selected;
	counters->fallback = sum.fallback;
	counters->missed = sum.missed;
	return 0;
}

static int read_missed(const struct rplb_group *group, uint32_t row, uint64_t *packets)
{
	struct lb_reuseport_counters sum = {0};
	int error = read_row(group, row, &sum);

	if (!error)
		*packets = sum.missed;
	return error;
}

int rplb_left_to_kernel(struct rplb_group *group, uint64_t *packets)
{
	if (!packets || rplb_check(group))
		return packets ? rplb_check(group) : -EINVAL;
	return read_missed(group, LB_REUSEPORT_LEFT(group->capacity), packets);
}

int rplb_flows_missed(struct rplb_group *group, uint64_t *packets)
{
	if (!packets || rplb_check(group))
		return packets ? rplb_check(group) : -EINVAL;
	return read_missed(group, LB_REUSEPORT_FLOWS(group->capacity), packets);
}

static void write_address(const struct lb_reuseport_group *record, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = record->family;
	if (record->family == AF_INET) {
		v4->sin_addr.s_addr = htonl((uint32_t)record->address.low);
		v4->sin_port = htons(record->port);
	} else if (record->family == AF_INET6) {
		for (int i = 0; i < 8; i++) {
			v6->sin6_addr.s6_addr[i] = (uint8_t)(record->address.high >> (56 - 8 * i));
			v6->sin6_addr.s6_addr[8 + i] =
				(uint8_t)(record->address.low >> (56 - 8 * i));
		}
		v6->sin6_port = htons(record->port);
	}
}

int rplb_info(struct rplb_group *group, struct rplb_info *info)
{
	struct lb_reuseport_group record;
	struct rplb_info found = {0};
	int error;

	if (!group || !info)
		return -EINVAL;
	if (group->is_classic) {
		*info = (struct rplb_info){.count = group->capacity,
					   .key = RPLB_KEY_SOURCE_IP,
					   .capacity = group->capacity,
					   .is_fallback = 1};
		return 0;
	}
	error = rplb_record_read(group, &record);
	if (!error)
		error = rplb_count_read(group, &found.count);
	if (!error)
		error = rplb_seed_read(group, &found.seed);
	if (error)
		return error;
	found.abi = record.abi;
	found.key = (enum rplb_key)record.key;
	found.capacity = record.capacity;
	found.flows = record.flows;
	found.payload = rplb_payload_read(&record);
	write_address(&record, &found.address);
	*info = found;
	return 0;
}
