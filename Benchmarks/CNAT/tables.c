/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c: the program with one service of three servers. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "load.h"

enum {
	SERVERS = 3,
	PLACES = 1024,
	WAYS = 16384,
	INTERFACES = 64,
	CONSTANTS = 256,
	GENERATION = 1
};

struct table {
	struct lb_table head;
	struct lb_receiver receivers[64];
	uint16_t slots[LB_SLOTS_MIN];
};

/* Sets a constant of `size` bytes; -ENOENT when there is none. */
static int set(const struct bpf_object *object, const char *name, const void *value, uint32_t size,
	       uint8_t *constants)
{
	const struct btf *types = bpf_object__btf(object);
	int id = btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(types, (uint32_t)id);

	for (int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *place = btf_var_secinfos(section) + i;
		const struct btf_type *variable = btf__type_by_id(types, place->type);

		if (place->size != size || place->offset + size > CONSTANTS ||
		    strcmp(btf__name_by_offset(types, variable->name_off), name))
			continue;
		memcpy(constants + place->offset, value, size);
		return 0;
	}
	return -ENOENT;
}

int nat_prepare(struct bpf_object *object, const struct nat_case *way)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	struct bpf_map *ways = bpf_object__find_map_by_name(object, "ways");
	size_t size = 0;
	const uint8_t *start = map ? bpf_map__initial_value(map, &size) : NULL;
	uint8_t values[CONSTANTS], routed = way->is_routed != 0;
	uint32_t places = routed ? WAYS : 1;
	int error;

	if (!start || !ways || size > sizeof(values))
		return -ENOENT;
	memcpy(values, start, size);
	error = set(object, "lb_nat_routed", &routed, sizeof(routed), values);
	if (!error)
		error = set(object, "lb_nat_ways", &places, sizeof(places), values);
	if (!error)
		error = bpf_map__set_max_entries(ways, places);
	return error ? error : bpf_map__set_initial_value(map, values, size);
}

static int put(const struct bpf_object *object, const char *name, const void *key,
	       const void *value)
{
	int map = bpf_object__find_map_fd_by_name(object, name);

	return map < 0 ? map : bpf_map_update_elem(map, key, value, BPF_ANY);
}

/* Puts a new map with the one value in place `zero` of a map of maps. */
static int put_map(const struct bpf_object *object, const char *name, const void *value,
		   size_t size)
{
	uint32_t zero = 0;
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lb_bench", sizeof(uint32_t), (uint32_t)size,
				 1, NULL);
	int error = map < 0 ? map : bpf_map_update_elem(map, &zero, value, BPF_ANY);

	if (!error)
		error = put(object, name, &zero, &map);
	if (map >= 0)
		close(map);
	return error;
}

static void add_endpoint(struct lb_nat_endpoint *places, struct lb_addr address, int role,
			 int number)
{
	uint32_t place = lb_nat_place(address, NAT_PORT, LB_IP_UDP, PLACES);

	while (places[place].roles)
		place = (place + 1) % PLACES;
	places[place] = (struct lb_nat_endpoint){.address = address,
						 .port = NAT_PORT,
						 .protocol = LB_IP_UDP,
						 .roles = (uint8_t)role,
						 .number = (uint16_t)number,
						 .generation = GENERATION};
}

static int put_servers(const struct bpf_object *object, int is_v6)
{
	struct lb_nat_service service = {.address = nat_service(is_v6),
					 .port = NAT_PORT,
					 .protocol = LB_IP_UDP,
					 .is_v6 = is_v6 != 0};
	struct lb_nat_endpoint places[PLACES] = {0};
	uint32_t number = 0;
	int error = put(object, "services", &number, &service);

	add_endpoint(places, service.address, LB_NAT_SERVICE, 0);
	for (; number < SERVERS && !error; number++) {
		struct lb_nat_server server = {.address = nat_server(is_v6, (int)number),
					       .generation = GENERATION,
					       .port = NAT_PORT,
					       .protocol = LB_IP_UDP,
					       .is_v6 = is_v6 != 0};

		add_endpoint(places, server.address, LB_NAT_SERVER, (int)number);
		error = put(object, "servers", &number, &server);
	}
	return error ? error : put_map(object, "endpoints", places, sizeof(places));
}

static int put_table(const struct bpf_object *object)
{
	struct table *table = calloc(1, sizeof(*table));
	int error;

	if (!table)
		return -ENOMEM;
	table->head.seed_v4 = lb_hash_high(0, 0);
	table->head.key = LB_KEY_SOURCE_IP;
	table->head.slots = LB_SLOTS_MIN;
	for (uint32_t i = 0; i < SERVERS; i++)
		table->receivers[i].row = i;
	for (int i = 0; i < LB_SLOTS_MIN; i++)
		table->slots[i] = (uint16_t)(i % SERVERS);
	error = put_map(object, "tables", table, sizeof(*table));
	free(table);
	return error;
}

/* Records the loopback, where the packets of a test run arrive, as attached. */
static int put_hook(const struct bpf_object *object)
{
	struct lb_nat_hook *hooks = calloc(LB_NAT_HOOKS, sizeof(*hooks));
	uint32_t zero = 0;
	int error;

	if (!hooks)
		return -ENOMEM;
	hooks[1] = (struct lb_nat_hook){.ifindex = 1, .mac = {2, 0, 0, 0, 0, 1}};
	error = put(object, LB_NAT_HOOKS_MAP, &zero, hooks);
	free(hooks);
	return error;
}

int nat_fill(const struct bpf_object *object, const struct nat_case *way)
{
	const char *map = way->is_v6 ? "associations6" : "associations4";
	struct lb_nat_association association = {
		.word = lb_nat_associate(lb_nat_owner(0, GENERATION), 0, 0)};
	uint32_t link = LB_NAT_LINK_TRANSMITS | LB_NAT_LINK_TRANSMITS_PIECES | LB_NAT_LINK_TX;
	int error = put_servers(object, way->is_v6);

	if (!error)
		error = put_hook(object);
	if (!error)
		error = put_table(object);
	/* Every interface of the namespace, which has few. */
	for (uint32_t i = 1; i <= INTERFACES && !error; i++)
		error = put(object, "links", &i, &link);
	for (int i = 0; i < way->clients && !error; i++) {
		struct lb_addr address = nat_client(way->is_v6);
		uint16_t port =
			way->clients > 0x10000 ? htons((uint16_t)(i >> 16)) : NAT_CLIENT_PORT;
		struct lb_nat_client client;

		address.low |= htons((uint16_t)i);
		client = lb_nat_client_of(address, port, LB_IP_UDP, 0, way->is_v6);
		error = put(object, map, &client, &association);
	}
	return error;
}
