/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c: the member of a source, by the steps of the kernel program (bpf/reuseport_select.bpf.c). */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "internal.h"

static uint64_t word(const uint8_t *bytes)
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | bytes[i];
	return word;
}

/* Reads an address and its port. */
static int read_address(const struct sockaddr *from, struct lb_addr *address, uint16_t *port)
{
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;

		*address = lb_addr_v4(ntohl(v4->sin_addr.s_addr));
		*port = ntohs(v4->sin_port);
		return 0;
	}
	if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

		address->high = word(v6->sin6_addr.s6_addr);
		address->low = word(v6->sin6_addr.s6_addr + 8);
		*port = ntohs(v6->sin6_port);
		return 0;
	}
	return -EAFNOSUPPORT;
}

static int read_key(const struct rplb_group *group, const struct lb_reuseport_table *table,
		    const struct sockaddr *source, const struct sockaddr *destination,
		    uint32_t *key)
{
	struct lb_reuseport_group record;
	struct lb_flow flow;
	int error = rplb_record_read(group, &record);

	if (!error)
		error = read_address(source, &flow.source, &flow.source_port);
	if (!error && record.key == LB_REUSEPORT_SOURCE_IP) {
		*key = lb_key_source_ip(table->seed, flow.source);
		return 0;
	}
	if (!error && record.key != LB_REUSEPORT_FOUR_TUPLE)
		error = -EDOM;
	if (!error && !destination)
		error = -EDESTADDRREQ;
	if (!error)
		error = read_address(destination, &flow.destination, &flow.destination_port);
	if (!error)
		*key = lb_key_four_tuple(table->seed, &flow);
	return error;
}

/* The current member of a slot, or the previous one if that has closed. */
static int read_member(struct rplb_group *group, int protocol, uint32_t slot,
		       struct rplb_member *member)
{
	struct rplb_member list[RPLB_MEMBERS_LISTED];
	size_t found;
	int error = rplb_members(group, list, RPLB_MEMBERS_LISTED, &found);

	for (size_t i = 0; i < found && !error; i++) {
		if (list[i].slot == slot && list[i].protocol == protocol) {
			*member = list[i];
			return 0;
		}
	}
	return error ? error : -ENOENT;
}

static int find(struct rplb_group *group, const struct lb_reuseport_table *table, int protocol,
		uint32_t key, uint32_t first, struct rplb_member *member)
{
	int error = read_member(group, protocol, first, member);

	for (uint32_t attempt = 1; attempt <= LB_FALLBACK_KEYS && error == -ENOENT; attempt++)
		error = read_member(
			group, protocol,
			table->owner[lb_slot(lb_fallback_key(key, attempt), table->slots)], member);
	for (uint32_t attempt = 1; attempt < table->count && error == -ENOENT; attempt++)
		error = read_member(group, protocol, (first + attempt) % table->count, member);
	return error;
}

int rplb_slot_of(struct rplb_group *group, int protocol, const struct sockaddr *source,
		 const struct sockaddr *destination, uint32_t *slot, struct rplb_member *member)
{
	struct lb_reuseport_table *table;
	struct rplb_member found = {0};
	uint32_t key, first = 0, zero = 0;
	int error;

	if (!group || !source || !slot || !member ||
	    (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP))
		return -EINVAL;
	table = malloc(sizeof(*table));
	if (!table)
		return -ENOMEM;
	error = bpf_map_lookup_elem(group->maps[RPLB_MAP_SLOTS], &zero, table) ? -errno : 0;
	if (!error)
		error = read_key(group, table, source, destination, &key);
	if (!error) {
		first = table->owner[lb_slot(key, table->slots)];
		error = find(group, table, protocol, key, first, &found);
	}
	free(table);
	if (error && error != -ENOENT)
		return error;
	*slot = first;
	*member = found;
	return 0;
}
