/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c: the program with one listener of three receivers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lb/tables.h>

#include "load.h"

enum {
	RECEIVERS = 3
};

struct table {
	struct lb_table head;
	struct lb_receiver receivers[64];
	uint16_t slots[LB_SLOTS_MIN];
};

static void fill_table(struct table *table, const struct forwarding_case *forwarding)
{
	memset(table, 0, sizeof(*table));
	table->head.seed_v4 = lb_hash_high(0, 0);
	table->head.key = LB_KEY_SOURCE_IP;
	table->head.slots = LB_SLOTS_MIN;
	table->head.max_packet_size = 9000;
	table->head.address = forwarding_service(forwarding->is_v6);
	table->head.ifindex = FORWARDING_INGRESS;
	for (int i = 0; i < RECEIVERS; i++) {
		struct lb_receiver *receiver = &table->receivers[i];

		receiver->address = forwarding_receiver(forwarding->is_v6, i);
		receiver->next_hop = receiver->address;
		receiver->ifindex = 1;
		receiver->row = (uint32_t)i;
		receiver->port = FORWARDING_PORT;
		receiver->path = forwarding->looks_up ? LB_PATH_FIB : LB_PATH_NEIGH;
		receiver->is_v6 = forwarding->is_v6 != 0;
		receiver->mtu = 1500;
	}
	for (int i = 0; i < LB_SLOTS_MIN; i++)
		table->slots[i] = (uint16_t)(i % RECEIVERS);
}

/* The only destination on its port. */
static int put_port(const struct bpf_object *object)
{
	uint32_t port = FORWARDING_PORT, first = 1;
	int map = bpf_object__find_map_fd_by_name(object, "ports");

	return map < 0 ? map : bpf_map_update_elem(map, &port, &first, BPF_ANY);
}

int forwarding_fill(const struct bpf_object *object, const struct forwarding_case *forwarding)
{
	uint32_t zero = 0;
	int tables = bpf_object__find_map_fd_by_name(object, "tables");
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lb_table", sizeof(uint32_t),
				   sizeof(struct table), 1, NULL);
	struct table *table = malloc(sizeof(*table));
	int error = table ? 0 : -ENOMEM;

	if (!error && (tables < 0 || inner < 0))
		error = tables < 0 ? tables : inner;
	if (!error) {
		fill_table(table, forwarding);
		error = bpf_map_update_elem(inner, &zero, table, BPF_ANY);
	}
	if (!error)
		error = bpf_map_update_elem(tables, &zero, &inner, BPF_ANY);
	if (!error)
		error = put_port(object);
	free(table);
	if (inner >= 0)
		close(inner);
	return error;
}
