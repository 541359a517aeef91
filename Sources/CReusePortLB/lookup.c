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

struct lb_payload_key rplb_payload_of(const struct rplb_payload_key *key)
{
	struct lb_payload_key found = {
		.kind = (uint16_t)key->kind,
		.offset = (uint16_t)key->offset,
		.length = (uint8_t)key->length,
		.skip = (uint8_t)key->skip,
	};

	return found;
}

struct rplb_payload_key rplb_payload_read(const struct lb_reuseport_group *record)
{
	struct rplb_payload_key found = {
		.kind = (enum rplb_payload_kind)record->payload.kind,
		.offset = record->payload.offset,
		.length = record->payload.length,
		.skip = record->payload.skip,
	};

	return found;
}

/* A packet whose member is looked up. */
struct packet {
	int protocol;
	const struct sockaddr *source;
	const struct sockaddr *destination;
	const void *payload;
	size_t bytes;
};

/* Whether the key of the group includes the destination. */
static bool needs_destination(const struct lb_reuseport_group *record,
			      const struct lb_payload *payload)
{
	__u64 words[LB_PAYLOAD_WORDS];

	if (record->key != LB_REUSEPORT_PAYLOAD)
		return record->key == LB_REUSEPORT_FOUR_TUPLE;
	return !lb_payload_has_source(&record->payload) &&
	       !lb_payload_read(&record->payload, payload, words);
}

static int read_key(const struct rplb_group *group, const struct lb_reuseport_table *table,
		    const struct packet *packet, uint32_t *key)
{
	struct lb_payload payload = {.from = packet->payload};
	struct lb_reuseport_group record;
	struct lb_flow flow = {0};
	int error = rplb_record_read(group, &record);

	if (error)
		return error;
	if (!lb_reuseport_is_hashed(record.key))
		return -EDOM;
	if (packet->protocol == IPPROTO_UDP) {
		if (record.key == LB_REUSEPORT_PAYLOAD && !packet->payload)
			return -ENODATA;
		payload.bytes = (uint32_t)packet->bytes;
	}
	error = read_address(packet->source, &flow.source, &flow.source_port);
	if (!error && packet->destination)
		error = read_address(packet->destination, &flow.destination,
				     &flow.destination_port);
	else if (!error && needs_destination(&record, &payload))
		error = -EDESTADDRREQ;
	if (error)
		return error;
	*key = record.key == LB_REUSEPORT_SOURCE_IP ? lb_key_source_ip(table->seed, flow.source)
	       : record.key == LB_REUSEPORT_FOUR_TUPLE
		       ? lb_key_four_tuple(table->seed, &flow)
		       : lb_key_payload(table->seed, &record.payload, &payload, &flow);
	return 0;
}

/* The current member of a slot, or the previous one if that has closed. */
static int read_member(struct rplb_group *group, const struct lb_reuseport_table *table,
		       int protocol, uint32_t slot, struct rplb_member *member)
{
	enum lb_reuseport_protocol row =
		protocol == IPPROTO_TCP ? LB_REUSEPORT_TCP : LB_REUSEPORT_UDP;
	struct rplb_member list[LB_PLACES];
	size_t found = 0;
	int error = rplb_slot_read(group, protocol, slot, table->place[row][slot], list, &found);

	if (error || !found)
		return error ? error : -ENOENT;
	*member = list[0];
	return 0;
}

/* The slot that the flow had before, or that of the table. */
static uint32_t first_slot(const struct rplb_group *group, const struct lb_reuseport_table *table,
			   uint32_t key)
{
	uint32_t slot;

	if (!bpf_map_lookup_elem(group->maps[RPLB_MAP_FLOWS], &key, &slot) &&
	    slot < group->capacity)
		return slot;
	return table->owner[lb_slot(key, table->slots)];
}

static int find(struct rplb_group *group, const struct lb_reuseport_table *table, int protocol,
		uint32_t key, uint32_t first, struct rplb_member *member)
{
	int error = read_member(group, table, protocol, first, member);

	for (uint32_t attempt = 1; attempt <= LB_FALLBACK_KEYS && error == -ENOENT; attempt++)
		error = read_member(
			group, table, protocol,
			table->owner[lb_slot(lb_fallback_key(key, attempt), table->slots)], member);
	for (uint32_t attempt = 1; attempt < table->count && error == -ENOENT; attempt++)
		error = read_member(group, table, protocol, (first + attempt) % table->count,
				    member);
	return error;
}

int rplb_slot_of_payload(struct rplb_group *group, int protocol, const struct sockaddr *source,
			 const struct sockaddr *destination, const void *payload, size_t bytes,
			 uint32_t *slot, struct rplb_member *member)
{
	struct packet packet = {protocol, source, destination, payload, bytes};
	struct lb_reuseport_table *table;
	struct rplb_member found = {0};
	uint32_t key, first = 0, zero = 0;
	int error;

	if (!source || !slot || !member || bytes > UINT16_MAX ||
	    (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP))
		return -EINVAL;
	error = rplb_check(group);
	if (error)
		return error;
	table = malloc(sizeof(*table));
	if (!table)
		return -ENOMEM;
	error = bpf_map_lookup_elem(group->maps[RPLB_MAP_SLOTS], &zero, table) ? -errno : 0;
	if (!error)
		error = read_key(group, table, &packet, &key);
	if (!error) {
		first = first_slot(group, table, key);
		error = find(group, table, protocol, key, first, &found);
	}
	free(table);
	if (error && error != -ENOENT)
		return error;
	*slot = first;
	*member = found;
	return 0;
}

int rplb_slot_of(struct rplb_group *group, int protocol, const struct sockaddr *source,
		 const struct sockaddr *destination, uint32_t *slot, struct rplb_member *member)
{
	return rplb_slot_of_payload(group, protocol, source, destination, NULL, 0, slot, member);
}
